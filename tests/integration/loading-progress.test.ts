import { execFile } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventKind } from '../../src/resources/event.ts'
import { labImages, tellingLabEngine } from '../support/lab-config.ts'
import { ModelStage, namespace } from '../support/model-stage.ts'
import { until } from '../support/sluice-process.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const stage = new ModelStage(['--gpus', 'nvidia.com/gpu-l40s=2'])
stage.addFlags('--config', join(stage.data, 'config.yaml'))
const load = join(stage.folder, 'models/load.json')

/** What the engine answers from now on. It never sees half of it. */
function say(bytes: number, stillSeconds = 0): void {
  writeFileSync(`${load}.new`, JSON.stringify({ phase: 'reading', bytes, totalBytes: 640e9, stillSeconds }))
  renameSync(`${load}.new`, load)
}

async function eventsOf(reason: string): Promise<readonly string[]> {
  const { items } = await stage.client.list(eventKind, { namespace })
  return items.filter((event) => event.reason === reason).map((event) => String(event['message']))
}

describe('a model that takes long to load', () => {
  beforeAll(async () => {
    const config = { images: labImages, engines: { Telling: tellingLabEngine } }
    writeFileSync(join(stage.data, 'config.yaml'), JSON.stringify(config))
    await stage.start()
    mkdirSync(join(stage.folder, 'models'), { recursive: true })
    writeFileSync(join(stage.folder, 'models/weights.bin'), 'weights')
  })
  afterAll(() => stage.destroy())

  it('says how far it is to everybody who looks, that it stalls, and how long it took', async () => {
    say(288e9)
    await stage.create('big', { url: 'pvc://userdata/models/weights.bin', engine: 'Telling', minReplicas: 0 })
    await until('the gateway to know it', 30_000, async () => (await listed()) !== undefined)
    const asked = await stage.chat('big', { stream: true })
    const heard = commentsOf(asked)

    const { status } = await stage.untilModel('big', (model) => model.status?.loading?.percent === 45)
    expect(status).toMatchObject({
      phase: 'Waking',
      loading: { phase: 'Reading', bytes: 288e9, totalBytes: 640e9, progress: '45 %' },
      message: expect.stringMatching(/ for \d+ s: its files are being read, 45 % \(288 of 640 GB\)\.$/),
    })
    await until('the gateway to tell it', 30_000, async () => {
      const shown = await listed()
      return shown?.loading?.percent === 45 && /waking big: .*its files are being read, 45 %/.test(heard.text)
    })
    const { stdout } = await promisify(execFile)(process.execPath, [main, 'model', 'list', '--data', stage.data])
    expect(stdout).toMatch(/^big +Waking +45 % +0\/1 +Telling +The model has been loading/m)

    say(288e9, 60)
    const stalled = await stage.untilModel('big', (model) => model.status?.loading?.stalled === true)
    expect(stalled.status).toMatchObject({
      phase: 'Waking',
      loading: { progress: '45 %, stalled' },
      conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', reason: 'LoadingStalled' })]),
    })
    await until('an Event', 30_000, async () => (await eventsOf('LoadingStalled')).length > 0)
    expect(await eventsOf('LoadingStalled')).toEqual([
      expect.stringMatching(/its files are being read, 45 % \(288 of 640 GB\), since /),
    ])

    say(600e9)
    await stage.untilModel('big', (model) => model.status?.loading?.progress === '93 %')
    rmSync(load)
    const ready = await stage.untilModel('big', (model) => model.status?.phase === 'Ready')
    expect(ready.status).not.toHaveProperty('loading')
    expect(ready.status?.lastLoadSeconds).toBeGreaterThanOrEqual(1)
    await heard.ended
    expect(heard.text).toContain('7 bytes, 1 cards')
  })

  async function listed() {
    const answer = await fetch(`${stage.sluice.endpoints.gateway}/openai/v1/models/big`)
    if (!answer.ok) return undefined
    const { sluice } = (await answer.json()) as { sluice: { loading?: { percent?: number } } }
    return sluice
  }

  function commentsOf(answer: Response) {
    const heard = { text: '', ended: Promise.resolve() }
    heard.ended = (async () => {
      const decoder = new TextDecoder()
      for await (const chunk of answer.body ?? []) heard.text += decoder.decode(chunk, { stream: true })
    })()
    return heard
  }
})
