import { afterEach, beforeAll, expect, it } from 'vitest'
import * as fc from 'fast-check'
import { StatusError } from '../resources/status-error.ts'
import { type TestCertificates, createTestCertificates } from './certificates.fixture.ts'
import { type Answer, HostileCluster } from './hostile-cluster.fixture.ts'
import type { HostileInput } from './hostile-calls.fixture.ts'
import { hostileInputs } from './hostile-inputs.fixture.ts'
import { field, protobuf } from './hostile-protobuf.fixture.ts'
import { jsonPatch } from './json-patch.ts'
import { readProtobuf } from './protobuf-body.ts'
import { readManifest } from './server-side-apply/apply-body.ts'

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
  /** Of the whole process, the client included; what other programs take does not count. */
  readonly cpuMs: number
  readonly heapMb: number
}

async function costOf(input: HostileInput, share: number): Promise<Cost> {
  await cluster?.stop()
  cluster = await HostileCluster.start(certificates)
  for (const call of input.before?.(share) ?? []) await cluster.send(call)
  const call = input.attack(share)
  const heap = process.memoryUsage().heapUsed
  const before = process.cpuUsage()
  const answer = await cluster.send(call)
  const { user, system } = process.cpuUsage(before)
  return { answer, cpuMs: (user + system) / 1000, heapMb: (process.memoryUsage().heapUsed - heap) / 2 ** 20 }
}

// Before there were bounds these took from seconds to minutes, or ended the process.
it.each(hostileInputs)(
  '$name: is answered soon, in few words, and with little memory',
  { timeout: 60_000 },
  async (input) => {
    const { answer, cpuMs, heapMb } = await costOf(input, 0.15)
    expect(answer.code).toBeGreaterThanOrEqual(200)
    expect(answer.code).toBeLessThan(500)
    // A refusal is short, whatever was refused.
    expect(answer.code < 400 || answer.bytes < 2 ** 20).toBe(true)
    expect(cpuMs).toBeLessThan(15_000)
    expect(heapMb).toBeLessThan(600)
  },
)

/** Nothing but a refusal may come out of what anybody can send. */
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
