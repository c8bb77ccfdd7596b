import { type DomainName, mostNameBytes } from './domain-name.ts'
import { type Edns, type Header, type Message, type Question, type ResourceRecord, recordTypes } from './message.ts'
import { layoutOf } from './record-layout.ts'

/** The bytes are not a message; the reader decides what to do about it. */
export class MalformedMessage extends Error {}

export const headerBytes = 12

export interface MessageHead extends Header {
  readonly rcode: number
  readonly counts: {
    readonly questions: number
    readonly answers: number
    readonly authorities: number
    readonly additionals: number
  }
}

/** The first twelve bytes, which describe the rest. */
export function readHead(bytes: Buffer): MessageHead {
  if (bytes.length < headerBytes) throw new MalformedMessage('shorter than a header')
  const flags = bytes.readUInt16BE(2)
  const has = (bit: number) => (flags & bit) !== 0
  return {
    id: bytes.readUInt16BE(0),
    response: has(0x8000),
    opcode: (flags >> 11) & 0xf,
    authoritative: has(0x400),
    truncated: has(0x200),
    recursionDesired: has(0x100),
    recursionAvailable: has(0x80),
    authenticData: has(0x20),
    checkingDisabled: has(0x10),
    rcode: flags & 0xf,
    counts: {
      questions: bytes.readUInt16BE(4),
      answers: bytes.readUInt16BE(6),
      authorities: bytes.readUInt16BE(8),
      additionals: bytes.readUInt16BE(10),
    },
  }
}

/** Throws `MalformedMessage`. Takes time proportional to the number of bytes, whatever they are. */
export function readMessage(bytes: Buffer): Message {
  const { counts, ...head } = readHead(bytes)
  const reader = new MessageReader(bytes)
  const questions = Array.from(upTo(counts.questions), () => reader.question())
  const answers = Array.from(upTo(counts.answers), () => reader.record())
  const authorities = Array.from(upTo(counts.authorities), () => reader.record())
  const further = Array.from(upTo(counts.additionals), () => reader.record())
  const options = further.filter(({ type }) => type === recordTypes.OPT)
  const [option] = options
  if (options.length > 1 || (option && option.name.length > 0)) throw new MalformedMessage('more than one OPT record')
  const additionals = further.filter(({ type }) => type !== recordTypes.OPT)
  const rcode = head.rcode + (option ? (option.ttl >>> 24) * 16 : 0)
  return { ...head, rcode, questions, answers, authorities, additionals, edns: option && ednsOf(option) }
}

/** Counts come from outside: no array of that length is allocated before its items are read. */
function* upTo(count: number): Iterable<number> {
  for (let at = 0; at < count; at++) yield at
}

/** OPT has the fields of a record with other meanings. */
function ednsOf({ class: udpBytes, ttl }: ResourceRecord): Edns {
  return { udpBytes, version: (ttl >>> 16) & 0xff, dnssecOk: (ttl & 0x8000) !== 0 }
}

class MessageReader {
  readonly #bytes: Buffer
  #at = headerBytes
  /** Labels and jumps that may still be followed: otherwise names that point to names could be read over and over. */
  #steps: number

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#steps = 512 + bytes.length
  }

  question(): Question {
    const name = this.#name()
    return { name, type: this.#number16(), class: this.#number16() }
  }

  record(): ResourceRecord {
    const name = this.#name()
    const type = this.#number16()
    const recordClass = this.#number16()
    const ttl = this.#number16() * 0x1_0000 + this.#number16()
    const length = this.#number16()
    const end = this.#at + length
    if (end > this.#bytes.length) throw new MalformedMessage('a record longer than the message')
    const data = this.#data(type, end)
    if (this.#at !== end) throw new MalformedMessage('a record whose name does not end with it')
    return { name, type, class: recordClass, ttl, data }
  }

  #data(type: number, end: number): Array<Buffer | DomainName> {
    const layout = layoutOf(type)
    if (!layout) return [this.#slice(end)]
    const data: Array<Buffer | DomainName> = []
    if (layout.bytesBefore > 0) data.push(this.#slice(this.#at + layout.bytesBefore))
    for (let count = 0; count < layout.names; count++) data.push(this.#name())
    if (this.#at < end) data.push(this.#slice(end))
    return data
  }

  /** A copy, so that keeping a part does not keep the whole message in memory. */
  #slice(end: number): Buffer {
    if (end > this.#bytes.length) throw new MalformedMessage('a record that ends too soon')
    const part = Buffer.from(this.#bytes.subarray(this.#at, end))
    this.#at = end
    return part
  }

  #number16(): number {
    if (this.#at + 2 > this.#bytes.length) throw new MalformedMessage('the end of the message came too soon')
    const value = this.#bytes.readUInt16BE(this.#at)
    this.#at += 2
    return value
  }

  #name(): DomainName {
    const labels: string[] = []
    const bytes = this.#bytes
    let at = this.#at
    let resumeAt: number | undefined
    /** A pointer must lead to before where it was reached from, so that every chain ends. */
    let startedAt = at
    let length = 1
    for (;;) {
      const size = bytes[at]
      if (size === undefined || this.#steps-- <= 0) throw new MalformedMessage('a name without an end')
      if (size === 0) break
      if (size < 0x40) {
        length += 1 + size
        if (length > mostNameBytes) throw new MalformedMessage('a name longer than 255 bytes')
        if (at + 1 + size > bytes.length) throw new MalformedMessage('a label longer than the message')
        labels.push(bytes.toString('latin1', at + 1, at + 1 + size))
        at += 1 + size
        continue
      }
      const low = bytes[at + 1]
      if (size < 0xc0 || low === undefined) throw new MalformedMessage('a label of an unknown form')
      resumeAt ??= at + 2
      const target = (size & 0x3f) * 256 + low
      if (target >= startedAt || target < headerBytes) throw new MalformedMessage('a name that points ahead')
      at = startedAt = target
    }
    this.#at = resumeAt ?? at + 1
    return labels
  }
}
