import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, { APIError } from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ModelStage } from '../support/model-stage.ts'
import { until } from '../support/sluice-process.ts'
import { managementCredential } from '../support/management-credential.ts'

const stage = new ModelStage(['--gateway-workers', '2'])
const question = { model: 'tiny', messages: [{ role: 'user' as const, content: 'Hi' }], max_tokens: 3 }
// Without keep-alive, because the threads share connections, and so they share the requests as well.
const alone = { headers: { connection: 'close' } }

describe('sluice up with two gateway threads', () => {
  beforeAll(async () => {
    await stage.start()
    await stage.addFile('models/tiny')
    await stage.create('tiny', { minReplicas: 0 })
  })
  afterAll(() => stage.destroy())

  it('wakes a model once for requests of both, and has one log and one set of metrics', async () => {
    const { gateway, management } = stage.sluice.endpoints
    const openai = new OpenAI({ baseURL: `${gateway}/openai/v1`, apiKey: 'none', maxRetries: 0 })
    const answers = await Promise.all(Array.from({ length: 40 }, () => openai.chat.completions.create(question, alone)))
    expect(answers.map(({ usage }) => usage?.completion_tokens)).toEqual(answers.map(() => 3))
    const authorization = managementCredential(stage.data)
    const counted = 'sluice_gateway_requests_total{route="chat/completions",model="tiny",status="200"} 40'
    for (const url of [gateway, gateway, gateway, management]) {
      await until('all to be counted', 5_000, async () =>
        (await (await fetch(`${url}/metrics`, { headers: { ...alone.headers, authorization } })).text()).includes(
          counted,
        ),
      )
    }
    const text = await (await fetch(`${gateway}/metrics`, alone)).text()
    expect(text).toContain('sluice_traffic_wakes_total{model="tiny"} 1')
    expect(text).toContain('sluice_gateway_workers 2')
    expect(text).toMatch(/^sluice_process_start_time_seconds \d/m)
    const lines = () => readFileSync(join(stage.data, 'logs/sluice.log'), 'utf8').trimEnd().split('\n')
    const requests = () => lines().filter((line) => line.includes('"route":"chat/completions"'))
    await until('the log lines', 5_000, () => requests().length === 40)
    for (const line of lines()) expect(() => JSON.parse(line) as unknown).not.toThrow()
  })

  it('ends live streams properly on SIGTERM: whole, or with an error event', async () => {
    const { gateway, pid } = stage.sluice.endpoints
    const openai = new OpenAI({ baseURL: `${gateway}/openai/v1`, apiKey: 'none', maxRetries: 0 })
    const endless = { ...question, max_tokens: 3_500, stream: true as const }
    const streams = await Promise.all(Array.from({ length: 6 }, () => openai.chat.completions.create(endless, alone)))
    let begun = 0
    const ends = streams.map(async (stream) => {
      let pieces = 0
      try {
        for await (const _ of stream) if (++pieces === 1) begun++
        return 'whole'
      } catch (error) {
        return error instanceof APIError ? String(error.code) : String(error)
      }
    })
    await until('the streams to begin', 30_000, () => begun === 6)
    process.kill(pid, 'SIGTERM')
    await until('the gateway to take nothing new', 5_000, () =>
      fetch(`${gateway}/healthz`, alone).then(
        () => false,
        () => true,
      ),
    )
    const results = await Promise.all(ends)
    expect(results.filter((end) => end !== 'whole' && end !== 'stopping')).toEqual([])
    await until('the process to end', 30_000, () => {
      try {
        return !process.kill(pid, 0)
      } catch {
        return true
      }
    })
  })
})
