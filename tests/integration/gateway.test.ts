import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, type IncomingMessage, get } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import OpenAI, { APIError } from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isPodReady } from '../../src/resources/pod.ts'
import { documentedMetrics } from '../support/metric-docs.ts'
import { ModelStage } from '../support/model-stage.ts'
import { kubectlPath, runProgram } from '../support/programs.ts'
import { until } from '../support/sluice-process.ts'
import { managementCredential } from '../support/management-credential.ts'

const program = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const stage = new ModelStage(['--require-api-keys'])
const question = { model: 'tiny', messages: [{ role: 'user' as const, content: 'Hi' }], max_tokens: 3 }
const endless = { ...question, max_tokens: 3_500, stream: true as const }

const key = (args: string) => runProgram(process.execPath, [program, 'key', ...args.split(' '), '--data', stage.data])
const client = (apiKey: string) =>
  new OpenAI({ baseURL: `${stage.sluice.endpoints.gateway}/openai/v1`, apiKey, maxRetries: 0 })
const makeKey = async (name: string, flags = '') => (await key(`create ${name}${flags}`)).stdout.trim()

/** How the gateway answers to these keys, one after the other on one connection, so that one thread answers all. */
async function statusesOnOneConnection(keys: readonly string[]): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const sockets = new Set<Socket | null>()
  const statuses: number[] = []
  try {
    for (const apiKey of keys) {
      const headers = { authorization: `Bearer ${apiKey}` }
      const asked = get(`${stage.sluice.endpoints.gateway}/openai/v1/models`, { agent, headers })
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      sockets.add(asked.socket)
      await once(response.resume(), 'end')
      statuses.push(response.statusCode ?? 0)
    }
  } finally {
    agent.destroy()
  }
  expect(sockets.size).toBe(1)
  return statuses
}

type LogLine = Readonly<Record<string, unknown>>
const requestLines = (): LogLine[] =>
  readFileSync(join(stage.data, 'logs/sluice.log'), 'utf8')
    .split('\n')
    .filter((line) => line.includes('"msg":"request"'))
    .map((line) => JSON.parse(line) as LogLine)

describe.skipIf(kubectlPath === undefined)('a gateway that asks for keys', () => {
  let admin: string

  beforeAll(async () => {
    await stage.start()
    await stage.addFile('models/tiny')
    await stage.create('tiny', { minReplicas: 0, aliases: ['org/gpt'] })
    admin = await makeKey('admin')
  })
  afterAll(() => stage.destroy())

  it('wakes a sleeping model for who has a key, and logs what it took', async () => {
    const answer = await client(admin).chat.completions.create(question)
    expect(answer.usage).toMatchObject({ completion_tokens: 3 })
    await until('the log line', 5_000, () => requestLines().some(({ model }) => model === 'tiny'))
    const line = requestLines().findLast(({ model }) => model === 'tiny')
    expect(line).toMatchObject({
      key: 'admin',
      client: '127.0.0.1',
      route: 'chat/completions',
      status: 200,
      promptTokens: answer.usage?.prompt_tokens,
      completionTokens: 3,
    })
    expect(line?.['waitMs']).toBeGreaterThan(0)
    expect(readFileSync(join(stage.data, 'logs/sluice.log'), 'utf8')).not.toContain(admin)
  })

  it('makes responses of what a real engine answers, for a Model by another name', async () => {
    const asked = { model: 'org/gpt', input: 'Hi', max_output_tokens: 3 }
    const response = await client(admin).responses.create(asked)
    expect(response).toMatchObject({ status: 'incomplete', model: 'tiny', usage: { output_tokens: 3 } })
    const types: string[] = []
    for await (const { type } of await client(admin).responses.create({ ...asked, stream: true })) types.push(type)
    expect(types.slice(0, 4)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
    ])
    expect(types.at(-1)).toBe('response.incomplete')
    const [data] = (await client(admin).models.list()).data.filter(({ id }) => id === 'org/gpt')
    expect(data).toMatchObject({ root: 'tiny' })
  })

  it('has no side door at the address of a model’s Pod, and no open metrics', async () => {
    await client(admin).chat.completions.create(question)
    const pod = await stage.untilPod(isPodReady)
    const engine = `http://${pod.status?.podIP}:${pod.spec.containers[0]?.ports?.[0]?.containerPort}`
    const asked = { method: 'POST', body: JSON.stringify(question) }
    for (const authorization of ['', `Bearer ${admin}`]) {
      const headers = { 'content-type': 'application/json', authorization }
      const refused = await fetch(`${engine}/v1/chat/completions`, { ...asked, headers })
      expect([refused.status, await refused.json()]).toMatchObject([401, { error: { code: 'engine_key_required' } }])
    }
    expect((await fetch(`${engine}/v1/models`)).status).toBe(401)
    expect((await fetch(`${engine}/health`)).status).toBe(200)
    const { gateway, management } = stage.sluice.endpoints
    for (const face of [gateway, management]) expect((await fetch(`${face}/metrics`)).status).toBe(401)
  })

  it('takes a key away before it knows of one that was made later', async () => {
    const narrow = await makeKey('narrow', ' --models other --expires 1h')
    await expect(client(narrow).chat.completions.create(question)).rejects.toMatchObject({ code: 'model_not_allowed' })
    expect((await client(narrow).models.list()).data).toEqual([])
    expect((await key('list')).stdout).toMatch(/narrow +sk-\w+-… +other +active +20\S+/)
    expect((await key('list')).stdout).not.toContain(narrow)
    expect((await key('revoke narrow')).stdout).toContain('revoked')
    const later = await makeKey('later')
    let statuses: readonly number[] = []
    await until('the later key to be accepted', 30_000, async () => {
      statuses = await statusesOnOneConnection([later, narrow])
      return statuses[0] === 200
    })
    expect(statuses).toEqual([200, 401])
    expect((await key('revoke narrow')).stderr).toContain('There is no API key narrow')
    await client(admin).models.list()
  })

  it('knows the client behind the edge, whatever that client says', async () => {
    const { ca, gatewayExposed } = stage.sluice.endpoints
    const lie = [
      '-H',
      'x-forwarded-for: 6.6.6.6',
      '-H',
      'x-request-id: through-the-edge',
      '-H',
      `authorization: Bearer ${admin}`,
    ]
    const listed = await runProgram('curl', ['-sS', '--cacert', ca, ...lie, `${gatewayExposed}/v1/models/nope`])
    expect(JSON.parse(listed.stdout)).toMatchObject({ error: { code: 'model_not_found' } })
    await until('the log line', 5_000, () => requestLines().some(({ requestId }) => requestId === 'through-the-edge'))
    expect(requestLines().find(({ requestId }) => requestId === 'through-the-edge')).toMatchObject({
      client: '127.0.0.1',
    })
  })

  it('counts what docs/reference/metrics.md says, under those names, with those labels', async () => {
    const headers = { authorization: `Bearer ${admin}` }
    const { gateway, management } = stage.sluice.endpoints
    const pod = await stage.untilPod(isPodReady)
    const enginePort = pod.spec.containers[0]?.ports?.[0]?.containerPort
    const kubectl = await runProgram(kubectlPath ?? '', [
      '--kubeconfig',
      stage.sluice.kubeconfig,
      'get',
      '--raw',
      '/metrics',
    ])
    const texts = [
      await (await fetch(`${gateway}/metrics`, { headers })).text(),
      await (
        await fetch(`${management}/metrics`, { headers: { authorization: managementCredential(stage.data) } })
      ).text(),
      await (await fetch(`http://${pod.status?.podIP}:${enginePort}/metrics`)).text(),
      kubectl.stdout,
    ]
    const exposed = new Map<string, string>()
    const labels = new Map<string, Set<string>>()
    for (const text of texts) {
      for (const [, name = '', help = '', type = ''] of text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)$/gm)) {
        exposed.set(name, `${type} ${help}`)
      }
      for (const [, name = '', list = ''] of text.matchAll(/^([a-zA-Z0-9_:]+)\{(.*)\} \S+$/gm)) {
        const metric = exposed.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '')
        const seen = labels.get(metric) ?? new Set()
        for (const [, label = ''] of list.matchAll(/(\w+)="/g)) if (label !== 'le') seen.add(label)
        labels.set(metric, seen)
      }
    }
    const documented = documentedMetrics()
    expect(Object.fromEntries(documented.map(({ name, type, meaning }) => [name, `${type} ${meaning}`]))).toEqual(
      Object.fromEntries(exposed),
    )
    const wrong = documented.filter(({ name, labels: said }) => {
      const seen = labels.get(name)
      return seen !== undefined && [...seen].some((label) => !said.includes(label))
    })
    expect(wrong).toEqual([])
    const [text = ''] = texts
    expect(text).toMatch(/sluice_traffic_wakes_total\{model="tiny"\} [1-9]/)
    for (const phase of ['placed', 'started', 'loaded', 'first_byte']) {
      expect(text).toMatch(new RegExp(`sluice_traffic_wake_seconds_count\\{model="tiny",phase="${phase}"\\} [1-9]`))
    }
    expect(text).toMatch(/sluice_gateway_cards\{model="tiny",card="nvidia.com\/gpu-l40s"\} 1/)
    expect(text).toMatch(/sluice_gateway_tokens_total\{model="tiny",kind="completion"\} [1-9]/)
  })

  it('ends live streams properly on SIGTERM: whole, or with an error event', async () => {
    const streams = await Promise.all(Array.from({ length: 4 }, () => client(admin).chat.completions.create(endless)))
    const ends = streams.map(async (stream) => {
      let pieces = 0
      try {
        for await (const _ of stream) if (++pieces === 1) begun++
        return 'whole'
      } catch (error) {
        return error instanceof APIError ? String(error.code) : String(error)
      }
    })
    let begun = 0
    await until('the streams to begin', 30_000, () => begun === 4)
    const { pid, gateway } = stage.sluice.endpoints
    process.kill(pid, 'SIGTERM')
    await until('the gateway to take nothing new', 5_000, () =>
      fetch(`${gateway}/healthz`).then(
        () => false,
        () => true,
      ),
    )
    const results = await Promise.all(ends)
    expect(results.filter((end) => end !== 'whole' && end !== 'stopping')).toEqual([])
    await until('the process to end', 30_000, () => !isAlive(pid))
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
