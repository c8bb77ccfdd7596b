import { afterEach, beforeAll, expect, it } from 'vitest'
import * as fc from 'fast-check'
import { StatusError } from '../../resources/status-error.ts'
import { type TestCertificates, createTestCertificates } from '../test-support/certificates.fixture.ts'
import { type Answer, HostileCluster } from './hostile-cluster.fixture.ts'
import type { HostileInput } from './hostile-calls.fixture.ts'
import { hostileInputs } from './hostile-inputs.fixture.ts'
import { field, protobuf } from './hostile-protobuf.fixture.ts'
import { jsonPatch } from '../patches/json-patch.ts'
import { readProtobuf } from '../protobuf/protobuf-body.ts'
import { readManifest } from '../bodies/apply-body.ts'

let certificates: TestCertificates
let cluster: HostileCluster | undefined

beforeAll(async () => {
  certificates = await createTestCertificates('CN=nobody')
})

afterEach(async () => {
  await cluster?.stop()
  cluster = undefined
})

interface Cost {
  readonly answer: Answer
  /** CPU time of this thread, the client's part included; other threads and programs do not count. */
  readonly cpuMs: number
  /** Bytes of everything that was sent. */
  readonly bytes: number
  readonly heapMb: number
  /** The longest turn of the loop in this thread's CPU time, the client's part included. */
  readonly turnMs: number
}

async function costOf(input: HostileInput, share: number): Promise<Cost> {
  await cluster?.stop()
  cluster = await HostileCluster.start(certificates)
  let bytes = 1
  for (const call of input.before?.(share) ?? []) {
    bytes += call.body?.length ?? 0
    const { code, text } = await cluster.send(call)
    expect(code, `before ${input.name}: ${text.slice(0, 200)}`).toBeLessThan(300)
  }
  const call = input.attack(share)
  const heap = process.memoryUsage().heapUsed
  const turns = new TurnTimes()
  const answer = await cluster.send(call)
  const heapMb = (process.memoryUsage().heapUsed - heap) / 2 ** 20
  return { answer, bytes: bytes + (call.body?.length ?? 0), heapMb, ...turns.stop() }
}

/**
 * Measures how much CPU time the turns of this thread's loop take. Sampled every millisecond and not in every turn: a
 * loop that turns all the time would take a core from the threads it waits for.
 */
class TurnTimes {
  #last = threadMs()
  #longest = 0
  #all = 0
  readonly #watch = setInterval(() => this.#turned(), 1)

  #turned(): void {
    const now = threadMs()
    const took = now - this.#last
    this.#longest = Math.max(this.#longest, took)
    // Sampling itself causes many turns in which nothing happens.
    if (took > 0.5) this.#all += took
    this.#last = now
  }

  stop(): Pick<Cost, 'cpuMs' | 'turnMs'> {
    clearInterval(this.#watch)
    this.#turned()
    return { cpuMs: this.#all, turnMs: this.#longest }
  }
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/**
 * The least that the input costs: anything else the machine does can only add to it. Repeated until it is `good`,
 * within limits.
 */
async function leastCost(input: HostileInput, share: number, good: (cost: Cost) => boolean): Promise<Cost> {
  let least = await costOf(input, share)
  for (let run = 1; run < 5 && !good(least); run += 1) {
    const { answer, cpuMs, bytes, heapMb, turnMs } = await costOf(input, share)
    least = {
      answer,
      bytes,
      cpuMs: Math.min(cpuMs, least.cpuMs),
      heapMb: Math.min(heapMb, least.heapMb),
      turnMs: Math.min(turnMs, least.turnMs),
    }
  }
  return least
}

const usualShare = 0.15
const longestTurnMs = 250
/** Twice the input may cost 2.6 times as much, plus a constant for a compilation, a garbage collection or a thread. */
const growth = 1.3
const noiseMs = 150

// Without bounds these took from seconds to minutes, or ended the process.
it.each(hostileInputs)(
  '$name: is answered soon, in few words, in short turns, and costs no more than its size',
  { timeout: 60_000 },
  async (input) => {
    const { share = usualShare } = input
    const half = await costOf(input, share / 2)
    const allowedMs = ({ bytes }: Cost) => growth * half.cpuMs * Math.max(bytes / half.bytes, 1) + noiseMs
    const isGood = (cost: Cost) => cost.turnMs < longestTurnMs && cost.cpuMs < allowedMs(cost)
    const cost = await leastCost(input, share, isGood)
    const { answer, heapMb } = cost
    expect(answer.code).toBeGreaterThanOrEqual(200)
    expect(answer.code).toBeLessThan(500)
    // A refusal is short, whatever was refused.
    expect(answer.code < 400 || answer.bytes < 2 ** 20).toBe(true)
    expect(answer.text).toContain(input.answer ?? '')
    expect(cost.turnMs).toBeLessThan(longestTurnMs)
    expect(cost.cpuMs).toBeLessThan(allowedMs(cost))
    expect(heapMb).toBeLessThan(600)
  },
)

/** Whether nothing but a refusal comes of what anybody can send. */
async function refusesOnly(read: () => unknown): Promise<boolean> {
  try {
    await read()
    return true
  } catch (error) {
    return error instanceof StatusError && error.code < 500
  }
}

it('reads whatever protobuf there may be, or refuses it', async () => {
  const whole = protobuf(
    'v1',
    'ConfigMap',
    field(1, field(1, 'name'), field(14, 'a.b/c'), field(8, Buffer.from([8, 1]))),
    field(2, field(1, 'key'), field(2, 'value')),
  )
  const change = fc.record({ at: fc.nat(whole.length - 1), byte: fc.nat(255) })
  const holds = fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 8 }), fc.nat(whole.length), (changes, end) => {
      const bytes = Buffer.from(whole)
      for (const { at, byte } of changes) bytes[at] = byte
      return refusesOnly(() => readProtobuf(bytes.subarray(0, end)))
    }),
    { numRuns: 2_000 },
  )
  await expect(holds).resolves.toBeUndefined()
})

it('reads whatever YAML there may be, or refuses it', async () => {
  const pieces = [
    'a',
    ': ',
    '\n',
    '  ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '&x ',
    '*x',
    '!!set ',
    '<<: ',
    '"',
    "'",
    '|',
    '---',
    '#',
    '?',
    '%',
  ]
  const holds = fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...pieces), { maxLength: 40 }), (parts) =>
      refusesOnly(() => readManifest(parts.join(''), { fieldValidation: 'Strict' })),
    ),
    { numRuns: 2_000 },
  )
  await expect(holds).resolves.toBeUndefined()
})

it('applies whatever JSON patch there may be to a copy, or refuses it', async () => {
  const path = fc.array(fc.constantFrom('a', 'b', '0', '-', '1', '__proto__', ''), { maxLength: 4 })
  const pointer = path.map((parts) => parts.map((part) => `/${part}`).join(''))
  const op = fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test')
  const operation = fc.record({ op, path: pointer, from: pointer, value: fc.jsonValue({ maxDepth: 2 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 12 }), async (operations) => {
      const target = { a: { b: [1, { a: 2 }] }, b: [[], { b: {} }] }
      const before = structuredClone(target)
      expect(await refusesOnly(() => jsonPatch(target, operations))).toBe(true)
      expect(target).toEqual(before)
    }),
    { numRuns: 2_000 },
  )
})
