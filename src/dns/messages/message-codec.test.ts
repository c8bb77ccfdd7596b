import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nameKey, nameOf, sameName, wireLength } from './domain-name.ts'
import { type Message, type ResourceRecord, mostMessageBytes, recordTypes, responseCodes } from './message.ts'
import { MalformedMessage, readMessage } from './message-reader.ts'
import { writeMessage } from './message-writer.ts'
import { addressRecord, authorityRecord, locationRecord, pointerRecord } from './new-record.ts'
import { layoutOf } from './record-layout.ts'

const label = fc.uint8Array({ minLength: 1, maxLength: 63 }).map((bytes) => Buffer.from(bytes).toString('latin1'))
const name = fc
  .array(fc.oneof(label, fc.constantFrom('web', 'default', 'svc', 'cluster', 'local')), { maxLength: 8 })
  .filter((labels) => wireLength(labels) <= 255)
const bytes = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map((some) => Buffer.from(some))

const record: fc.Arbitrary<ResourceRecord> = fc
  .record({
    name,
    type: fc.constantFrom(...Object.values(recordTypes).filter((type) => type !== recordTypes.OPT), 17, 39, 99, 46),
    ttl: fc.nat(2 ** 32 - 1),
  })
  .chain(({ name: owner, type, ttl }) => {
    const layout = layoutOf(type)
    if (!layout)
      return fc.uint8Array({ maxLength: 300 }).map((some) => ({ owner, type, ttl, data: [Buffer.from(some)] }))
    const before = layout.bytesBefore > 0 ? [bytes(layout.bytesBefore)] : []
    const after = type === recordTypes.SOA ? [bytes(20)] : []
    const names = Array.from({ length: layout.names }, () => name)
    return fc.tuple(...before, ...names, ...after).map((data) => ({ owner, type, ttl, data }))
  })
  .map(({ owner, type, ttl, data }) => ({ name: owner, type, class: 1, ttl, data }))

const flag = fc.boolean()
const message: fc.Arbitrary<Message> = fc.record({
  id: fc.nat(65_535),
  response: flag,
  opcode: fc.nat(15),
  authoritative: flag,
  truncated: fc.constant(false),
  recursionDesired: flag,
  recursionAvailable: flag,
  authenticData: flag,
  checkingDisabled: flag,
  rcode: fc.nat(15),
  questions: fc.array(fc.record({ name, type: fc.nat(65_535), class: fc.nat(65_535) }), { maxLength: 2 }),
  answers: fc.array(record, { maxLength: 6 }),
  authorities: fc.array(record, { maxLength: 3 }),
  additionals: fc.array(record, { maxLength: 3 }),
  edns: fc.option(fc.record({ udpBytes: fc.nat(65_535), version: fc.nat(255), dnssecOk: flag }), { nil: undefined }),
})

const empty: Message = {
  id: 7,
  response: true,
  opcode: 0,
  authoritative: true,
  truncated: false,
  recursionDesired: true,
  recursionAvailable: true,
  authenticData: false,
  checkingDisabled: false,
  rcode: 0,
  questions: [{ name: ['web', 'default', 'svc', 'cluster', 'local'], type: recordTypes.A, class: 1 }],
  answers: [],
  authorities: [],
  additionals: [],
  edns: undefined,
}
const web = empty.questions[0]?.name ?? []

/** Reads a message or says that it is malformed; anything else is thrown. */
function tryRead(some: Buffer): Message | 'malformed' {
  try {
    return readMessage(some)
  } catch (error) {
    if (error instanceof MalformedMessage) return 'malformed'
    throw error
  }
}

describe('a message on the wire', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(message, (sent) => {
        expect(readMessage(writeMessage(sent, mostMessageBytes))).toEqual(sent)
      }),
    )
  })

  it('fits into its limit, says so when something is left out, and leaves out from the end', () => {
    fc.assert(
      fc.property(message, fc.integer({ min: 600, max: 1_300 }), (sent, limit) => {
        const written = writeMessage(sent, limit)
        const read = readMessage(written)
        expect(written.length).toBeLessThanOrEqual(limit)
        expect(read.edns).toEqual(sent.edns)
        expect(read.answers).toEqual(sent.answers.slice(0, read.answers.length))
        const whole = read.answers.length === sent.answers.length && read.authorities.length === sent.authorities.length
        expect(read.truncated).toBe(!whole)
      }),
    )
  })

  it('has names compressed, but not the targets of SRV records', () => {
    const target = ['db-0', ...web]
    const answers = Array.from({ length: 30 }, (_, at) => addressRecord(web, Buffer.from([10, 1, 0, at]), 30))
    // 12 bytes of header, the question, and for each answer a pointer instead of the name.
    expect(writeMessage({ ...empty, answers }, 1_232)).toHaveLength(12 + wireLength(web) + 4 + 30 * 16)
    const location = locationRecord(web, { weight: 1, port: 80, target }, 30)
    expect(writeMessage({ ...empty, answers: [location] }, 1_232)).toHaveLength(
      12 + wireLength(web) + 4 + 12 + 6 + wireLength(target),
    )
  })

  it('keeps the case of every name', () => {
    const loud = ['WEB', 'default', 'SVC', 'cluster', 'local']
    const sent = { ...empty, answers: [pointerRecord(web, recordTypes.CNAME, loud, 30)] }
    expect(readMessage(writeMessage(sent, 512))).toEqual(sent)
  })

  it('carries codes beyond four bits where there is room for them', () => {
    const edns = { udpBytes: 1_232, version: 0, dnssecOk: false }
    const sent = { ...empty, rcode: responseCodes.BADVERS, edns }
    expect(readMessage(writeMessage(sent, 512))).toEqual(sent)
  })
})

describe('bytes from anybody', () => {
  it('are read or refused, never anything else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (some) => {
        expect(tryRead(Buffer.from(some))).toBeDefined()
      }),
      { numRuns: 2_000 },
    )
  })

  it('are read or refused when they are almost right, and what could be read can be written', () => {
    const change = fc.tuple(fc.nat(2_000), fc.nat(255))
    fc.assert(
      fc.property(message, fc.array(change, { minLength: 1, maxLength: 8 }), fc.nat(40), (sent, changes, cut) => {
        const some = writeMessage(sent, mostMessageBytes)
        for (const [at, value] of changes) some[at % some.length] = value
        const read = tryRead(some.subarray(0, some.length - Math.min(cut, some.length)))
        const again = read === 'malformed' ? read : readMessage(writeMessage(read, mostMessageBytes))
        expect(again).toEqual(read)
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['a pointer to itself', [0xc0, 12]],
    ['a pointer ahead', [0xc0, 40]],
    ['a pointer into the header', [0xc0, 0]],
    ['two that point to each other', [0xc0, 14, 0xc0, 12]],
    ['a label of a reserved form', [0x40, 1, 2]],
    ['half a pointer', [0xc0]],
    ['a label without its end', [63, 97]],
    ['no end', [1, 97]],
    [
      '256 bytes',
      [...Array.from({ length: 4 }, () => [63, ...Array.from({ length: 63 }, () => 97)]).flat(), 0, 0, 1, 0, 1],
    ],
  ])('are no name: %s', (_, some) => {
    const head = Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    expect(() => readMessage(Buffer.concat([head, Buffer.from(some)]))).toThrow(MalformedMessage)
  })

  it('cost no more than their length allows, however their names refer to each other', () => {
    // A name of 120 labels, followed by as many records as fit, each with a name that ends in it.
    const labels = Array.from({ length: 120 }, () => [1, 97]).flat()
    const head = Buffer.from([0, 7, 0x80, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0])
    const question = Buffer.from([...labels, 0, 0, 1, 0, 1])
    const one = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0])
    const some = Buffer.concat([head, question, ...Array.from({ length: 5_000 }, () => one)])
    expect(() => readMessage(some)).toThrow('a name without an end')
  })
})

describe('a name', () => {
  it('is the same in any case, and no other one', () => {
    expect(sameName(['WEB', 'a'], ['web', 'A'])).toBe(true)
    expect(nameKey(['WEB', 'a'])).toBe(nameKey(['web', 'A']))
    // A dot inside a label is not a separator; letters outside ASCII have no other case.
    expect(nameKey(['a.b'])).not.toBe(nameKey(['a', 'b']))
    expect(sameName(['\u00c9'], ['\u00e9'])).toBe(false)
  })

  it.each([
    ['', []],
    ['.', []],
    ['a.b.', ['a', 'b']],
    ['a..b', undefined],
    [`${'a'.repeat(64)}.b`, undefined],
    [`${'a'.repeat(63)}.b`, ['a'.repeat(63), 'b']],
    [Array.from({ length: 128 }, () => 'a').join('.'), undefined],
    ['\u20ac.example', undefined],
  ])('is made of text: %j', (text, expected) => {
    expect(nameOf(text)).toEqual(expected)
  })
})

it('an authority says for how long a denial holds', () => {
  const { data } = authorityRecord(['cluster', 'local'], 1_900_000_000, 30)
  expect(data.slice(0, 2)).toEqual([
    ['ns', 'dns', 'cluster', 'local'],
    ['hostmaster', 'cluster', 'local'],
  ])
  const numbers = data[2]
  expect(Buffer.isBuffer(numbers) && [0, 4, 8, 12, 16].map((at) => numbers.readUInt32BE(at))).toEqual([
    1_900_000_000, 7_200, 1_800, 86_400, 30,
  ])
})
