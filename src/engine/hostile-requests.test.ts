import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { measureAgain } from '../foundation/measure-again.fixture.ts'
import { json } from './test-support/test-engine.fixture.ts'
import { tinyToolTemplate, writeTinyModel } from './models/tiny-model.ts'

const probe = new URL('test-support/turn-cost-probe.fixture.ts', import.meta.url).href
const main = fileURLToPath(new URL('../cli/main.ts', import.meta.url))
const model = 'tiny'
const chatPath = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'Hi' }]
/**
 * The most processor time that the engine's thread may spend in one turn of its loop, during which nobody else is
 * answered. The costliest turn takes 50 ms, for a schema of 5,000 properties; without the limits it was 5 s to minutes.
 */
const costliestTurnMs = 150
/**
 * The most processor time that all of the engine's threads may spend while a bystander waits for the next answer or
 * token. It is 0.2 s at most, also on a busy machine, where everything takes longer but not more work.
 */
const mostWorkMs = 1_000
const mostMemoryBytes = 1.5e9

interface Cost {
  readonly turnMs: number
  readonly workMs: number
  readonly report: string
}

const isLittle = ({ turnMs, workMs }: Cost) => turnMs < costliestTurnMs && workMs < mostWorkMs

const times = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index))
const schemaFormat = (schema: object) => ({ type: 'json_schema', json_schema: { name: 'x', schema } })
const values = (count: number) => ({ enum: times(count, (index) => `value-${index}`) })
const nested = (depth: number): object => (depth === 0 ? { type: 'null' } : { type: 'array', items: nested(depth - 1) })
const properties = (count: number) =>
  Object.fromEntries(times(count, (index) => [`property-${index}`, { type: 'string' }]))
const tool = (index: number) => ({ type: 'function', function: { name: `tool-${index}`, parameters: nested(3) } })
const chat = (more: object): [string, string] => [
  chatPath,
  JSON.stringify({ model, messages, max_tokens: 24, ...more }),
]
const ambiguous = {
  $ref: '#/$defs/X',
  $defs: { X: { anyOf: times(12, (minItems) => ({ type: 'array', items: { $ref: '#/$defs/X' }, minItems })) } },
}

/**
 * Requests that could block everybody, and the expected answers. Each is made only when it is needed, since some are
 * large.
 */
const hostile: readonly [name: string, make: () => [path: string, body: string], status: number, code?: string][] = [
  ['an enum of 8,000', () => chat({ response_format: schemaFormat(values(8_000)) }), 200],
  ['an enum of 20,000', () => chat({ response_format: schemaFormat(values(20_000)) }), 200],
  ['an enum of 100,000', () => chat({ response_format: schemaFormat(values(100_000)) }), 400, 'invalid_request'],
  ['a schema of 1,000 levels', () => chat({ response_format: schemaFormat(nested(1_000)) }), 400, 'invalid_request'],
  [
    'a schema of 5,000 properties',
    () => chat({ response_format: schemaFormat({ type: 'object', properties: properties(5_000) }) }),
    200,
  ],
  ['a schema that multiplies', () => chat({ response_format: schemaFormat(ambiguous) }), 400, 'invalid_request'],
  ['30,000 messages', () => chat({ messages: times(30_000, (index) => turn(index)) }), 400, 'invalid_request'],
  ['10,000 messages', () => chat({ messages: times(10_000, (index) => turn(index)) }), 400, 'context_length_exceeded'],
  ['1,000 messages', () => chat({ messages: times(1_000, (index) => turn(index)) }), 400, 'context_length_exceeded'],
  ['a message of 10 MB', () => chat({ messages: big('word '.repeat(2e6)) }), 400, 'context_length_exceeded'],
  ['a message of 31 MB in escapes', () => chat({ messages: big('\n"'.repeat(7.7e6)) }), 400, 'context_length_exceeded'],
  ['a message of 1.5 MB', () => chat({ messages: big('x'.repeat(1.5e6)) }), 400, 'context_length_exceeded'],
  ['1,000 tools', () => chat({ tools: times(1_000, tool) }), 400, 'invalid_request'],
  ['128 tools', () => chat({ tools: times(128, tool), tool_choice: 'required' }), 400, 'context_length_exceeded'],
  ['10,000 stop strings', () => chat({ stop: times(10_000, String) }), 400, 'invalid_request'],
  [
    '100,000 biases',
    () => chat({ logit_bias: Object.fromEntries(times(100_000, (n) => [n, 1])) }),
    400,
    'invalid_request',
  ],
  ['JSON of 1,000,000 levels', () => [chatPath, '['.repeat(1e6)], 400, 'invalid_request'],
  ['JSON of 8,000,000 values', () => [chatPath, `[${'1,'.repeat(8e6)}1]`], 400, 'invalid_request'],
  ['n of 1,000', () => chat({ n: 1_000 }), 400, 'invalid_request'],
  ['16 answers', () => chat({ n: 16 }), 200],
  ['500,000 tokens', () => ['/v1/completions', JSON.stringify({ model, prompt: times(499_000, () => 1) })], 400],
  [
    'wrong prompts',
    () => ['/v1/completions', JSON.stringify({ model, prompt: times(2_000, (n) => (n % 2 ? 1 : '1')) })],
    400,
  ],
  ['3,000 texts to embed', () => ['/v1/embeddings', JSON.stringify({ model, input: times(3_000, String) })], 400],
  ['10 MB to tokenize', () => ['/tokenize', JSON.stringify({ model, prompt: 'word '.repeat(2e6) })], 400],
]

function turn(index: number) {
  return { role: index % 2 === 0 ? 'user' : 'assistant', content: 'x' }
}

function big(content: string) {
  return [{ role: 'user', content }]
}

describe('requests that could stop everybody else’s', () => {
  let folder: string
  let child: ChildProcess
  let url: string
  const longest: Record<string, string> = {}

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-engine-'))
    const file = join(folder, 'tiny.gguf')
    await writeTinyModel(file, { chatTemplate: tinyToolTemplate, words: 20_000 })
    const flags = ['--port', '0', '--served-model-name', model, '--max-num-seqs', '4']
    const args = ['--import', probe, main, 'serve', file, ...flags]
    child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    url = await urlOf(child)
    await vi.waitUntil(async () => (await fetch(`${url}/health`)).ok, { timeout: 30_000 })
    // Loading the program and the model is costly, and is not caused by a request.
    await takeCostliestMs(child)
  }, 60_000)
  afterAll(async () => {
    if (process.env['SLUICE_TEST_TIMES']) console.table(longest)
    child.kill('SIGKILL')
    await rm(folder, { recursive: true })
  })

  /** What an attack costs the others. */
  async function costOf(attack: () => Promise<void>): Promise<Cost> {
    const bystanders = new Bystanders(url, child.pid ?? 0)
    await bystanders.started
    try {
      await attack()
    } finally {
      await bystanders.stop()
    }
    const { mostWorkMs: workMs, report } = bystanders
    return { turnMs: await takeCostliestMs(child), workMs, report }
  }

  function expectLittle(name: string, { turnMs, workMs, report }: Cost): void {
    longest[name] = `${report}, a turn of ${Math.round(turnMs)} ms`
    expect(turnMs).toBeGreaterThan(0)
    expect(turnMs).toBeLessThan(costliestTurnMs)
    expect(workMs).toBeLessThan(mostWorkMs)
  }

  it.each(hostile)(
    'goes on while somebody sends %s',
    async (name, make, status, code) => {
      const [path, body] = make()
      const attack = async () => {
        const answer = await once(send(url, path, body), 'response')
        const response = answer[0] as IncomingMessage
        const said = await text(response)
        expect([response.statusCode, said]).toEqual([status, expect.stringContaining(code ?? '')])
        const left = send(url, path, body)
        await once(left, 'finish')
        left.destroy()
        await expect.poll(() => running(url), { timeout: 20_000 }).toBe(1)
      }
      expectLittle(name, await measureAgain(() => costOf(attack), isLittle))
    },
    120_000,
  )

  it('goes on while somebody sends many of them at once', async () => {
    const names = ['an enum of 20,000', 'a schema of 5,000 properties', '1,000 messages', 'a message of 1.5 MB']
    const chosen = hostile.filter(([name]) => names.includes(name)).map(([, make]) => make())
    const attack = async () => {
      const answers = times(24, (index) => once(send(url, ...(chosen[index % chosen.length] ?? ['', ''])), 'response'))
      const responses = (await Promise.all(answers)) as [IncomingMessage][]
      expect(new Set(responses.map(([{ statusCode }]) => statusCode))).toEqual(new Set([200, 400]))
      for (const [response] of responses) response.destroy()
    }
    expectLittle('many at once', await measureAgain(() => costOf(attack), isLittle))
  }, 120_000)

  it('has taken no more memory than a few of them need', async () => {
    await expect.poll(() => running(url)).toBe(0)
    const metrics = await (await fetch(`${url}/metrics`)).text()
    expect(Number(/^sluice_process_resident_memory_bytes (\S+)$/m.exec(metrics)?.[1])).toBeLessThan(mostMemoryBytes)
  })
})

function send(url: string, path: string, body: string): ClientRequest {
  const request = httpRequest(`${url}${path}`, { method: 'POST', headers: json, agent: false })
  request.on('error', () => {})
  request.end(body)
  return request
}

/** The costliest turn since this was last asked. */
async function takeCostliestMs(child: ChildProcess): Promise<number> {
  const answer = once(child, 'message')
  child.send('take')
  const [{ costliestMs }] = (await answer) as [{ costliestMs: number }]
  return costliestMs
}

async function running(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  return Number(/^sluice_engine_running_requests (\d+)$/m.exec(metrics)?.[1])
}

/**
 * Two other clients: one reads a long answer, one keeps asking for the health of the engine. Both measure how much
 * processor time the engine spends on everybody while they wait.
 */
class Bystanders {
  readonly started: Promise<void>
  readonly #pid: number
  #healthMs = 0
  #tokenMs = 0
  readonly #leave = new AbortController()
  readonly #ended: Promise<unknown>

  constructor(url: string, pid: number) {
    this.#pid = pid
    const { promise, resolve } = Promise.withResolvers<void>()
    this.started = promise
    this.#ended = Promise.allSettled([this.#read(url, resolve), this.#ask(url)])
  }

  get mostWorkMs(): number {
    return Math.max(this.#healthMs, this.#tokenMs)
  }

  get report(): string {
    return `${this.#healthMs} ms of work before /health, ${this.#tokenMs} ms in the stream`
  }

  async stop(): Promise<void> {
    this.#leave.abort()
    await this.#ended
  }

  async #read(url: string, onText: () => void): Promise<void> {
    const { signal } = this.#leave
    while (true) {
      const asked = { model, messages, stream: true, ignore_eos: true }
      const init = { method: 'POST', headers: json, body: JSON.stringify(asked), signal }
      const { body } = await fetch(`${url}/v1/chat/completions`, init)
      let last: number | undefined
      for await (const _ of body ?? []) {
        const now = processorMs(this.#pid)
        this.#tokenMs = Math.max(this.#tokenMs, now - (last ?? now))
        last = now
        onText()
      }
    }
  }

  async #ask(url: string): Promise<void> {
    const { signal } = this.#leave
    while (true) {
      const before = processorMs(this.#pid)
      await (await fetch(`${url}/health`, { signal })).text()
      this.#healthMs = Math.max(this.#healthMs, processorMs(this.#pid) - before)
    }
  }
}

/** The processor time that a process has used, in all its threads. */
function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in parentheses may have spaces. The kernel counts in hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

async function urlOf(child: ChildProcess): Promise<string> {
  let seen = ''
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the engine ended: ${seen}`)))
    child.stderr?.on('data', (chunk: Buffer) => {
      if (seen.length < 100_000) seen += chunk.toString()
      const found = /"url":"([^"]+)"/.exec(seen)?.[1]
      if (found !== undefined) resolve(found)
    })
  })
}
