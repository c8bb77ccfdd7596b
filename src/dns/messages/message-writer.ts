import type { DomainName } from './domain-name.ts'
import { type Edns, type Message, type ResourceRecord, mostMessageBytes, recordTypes } from './message.ts'
import { headerBytes } from './message-reader.ts'
import { layoutOf } from './record-layout.ts'

const optionBytes = 11
/** Pointers have 14 bits. */
const farthestPointer = 0x3fff
/** Room for a message and one record that turns out not to fit; used for one message at a time. */
const room = Buffer.allocUnsafe(2 * mostMessageBytes + 1_024)

/**
 * The message in at most `limit` bytes. Answers that do not fit are left out, and the message is marked as truncated;
 * additional records are optional and left out silently.
 */
export function writeMessage(message: Message, limit: number): Buffer {
  const { edns } = message
  const writer = new MessageWriter()
  for (const { name, type, class: questionClass } of message.questions) {
    writer.name(name, true)
    writer.number16(type)
    writer.number16(questionClass)
  }
  const bound = Math.min(limit, mostMessageBytes) - (edns ? optionBytes : 0)
  const answers = writer.records(message.answers, bound)
  const whole = answers === message.answers.length
  const authorities = whole ? writer.records(message.authorities, bound) : 0
  const cut = !whole || authorities < message.authorities.length
  const additionals = cut ? 0 : writer.records(message.additionals, bound)
  if (edns) writer.option(edns, message.rcode)
  const counts = [message.questions.length, answers, authorities, additionals + (edns ? 1 : 0)]
  return writer.end([message.id, flagsOf(message, message.truncated || cut), ...counts])
}

function flagsOf(message: Message, truncated: boolean): number {
  const bits: ReadonlyArray<readonly [boolean, number]> = [
    [message.response, 0x8000],
    [message.authoritative, 0x400],
    [truncated, 0x200],
    [message.recursionDesired, 0x100],
    [message.recursionAvailable, 0x80],
    [message.authenticData, 0x20],
    [message.checkingDisabled, 0x10],
  ]
  const flags = bits.reduce((sum, [set, bit]) => sum + (set ? bit : 0), 0)
  return flags | (message.opcode << 11) | (message.rcode & 0xf)
}

class MessageWriter {
  #at = headerBytes
  /** Where the rest of a name was written. Case-sensitive, so that no name gets another's case. */
  readonly #written = new Map<string, number>()
  /** The same for whole names that occur again, such as the question's in the answers. */
  readonly #names = new Map<DomainName, number>()

  /** Returns how many records fit. */
  records(records: readonly ResourceRecord[], bound: number): number {
    for (const [index, record] of records.entries()) {
      const before = this.#at
      this.#record(record)
      if (this.#at <= bound) continue
      this.#at = before
      // What was noted beyond this will be overwritten and must not be pointed to.
      for (const [rest, at] of this.#written) if (at >= before) this.#written.delete(rest)
      for (const [name, at] of this.#names) if (at >= before) this.#names.delete(name)
      return index
    }
    return records.length
  }

  option({ udpBytes, version, dnssecOk }: Edns, rcode: number): void {
    this.name([], false)
    this.number16(recordTypes.OPT)
    this.number16(udpBytes)
    this.number16(((rcode >> 4) << 8) | version)
    this.number16(dnssecOk ? 0x8000 : 0)
    this.number16(0)
  }

  name(name: DomainName, compressed: boolean): void {
    if (compressed) return this.#compressedName(name)
    for (const label of name) this.#label(label)
    room[this.#at++] = 0
  }

  #compressedName(name: DomainName): void {
    const whole = this.#names.get(name)
    if (whole !== undefined) return this.number16(0xc000 | whole)
    if (name.length > 0 && this.#at <= farthestPointer) this.#names.set(name, this.#at)
    const rests = restsOf(name)
    for (const [index, label] of name.entries()) {
      const rest = rests[index] ?? ''
      const known = this.#written.get(rest)
      if (known !== undefined) return this.number16(0xc000 | known)
      if (this.#at <= farthestPointer) this.#written.set(rest, this.#at)
      this.#label(label)
    }
    room[this.#at++] = 0
  }

  #label(label: string): void {
    room[this.#at] = label.length
    room.write(label, this.#at + 1, 'latin1')
    this.#at += 1 + label.length
  }

  number16(value: number): void {
    this.#at = room.writeUInt16BE(value, this.#at)
  }

  end(head: readonly number[]): Buffer {
    for (const [index, value] of head.entries()) room.writeUInt16BE(value, index * 2)
    return Buffer.from(room.subarray(0, this.#at))
  }

  #record({ name, type, class: recordClass, ttl, data }: ResourceRecord): void {
    this.name(name, true)
    this.number16(type)
    this.number16(recordClass)
    this.#at = room.writeUInt32BE(ttl, this.#at)
    const lengthAt = this.#at
    this.#at += 2
    const compressed = layoutOf(type)?.compressible ?? false
    for (const part of data) {
      if (Buffer.isBuffer(part)) this.#at += part.copy(room, this.#at)
      else this.name(part, compressed)
    }
    room.writeUInt16BE(Math.min(this.#at - lengthAt - 2, 0xffff), lengthAt)
  }
}

/** Keys for the rest of the name from each label on. */
function restsOf(name: DomainName): string[] {
  const rests = [...name]
  let rest = ''
  for (let index = name.length - 1; index >= 0; index--) {
    const label = name[index] ?? ''
    rest = String.fromCharCode(label.length) + label + rest
    rests[index] = rest
  }
  return rests
}
