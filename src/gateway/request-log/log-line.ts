import { pino } from 'pino'
import type { Logger } from '../../foundation/log.ts'
import { ByteRoom } from '../../relay/bytes/byte-room.ts'
import { mostNumberBytes, putBytes, putNumber, putText } from '../../relay/bytes/put-bytes.ts'

type Level = 'debug' | 'info' | 'warn'

/** Where lines go. One that also takes bytes has copied them when `writeBytes` returns. */
interface LineDestination {
  write(line: string): void
  writeBytes?(line: Buffer): void
}

/**
 * Writes lines of the log member by member, in the form that pino gives all others. A line for every request is too
 * many for pino: looking through its fields for secrets costs several times as much as writing it. What a child logger
 * adds to its lines is left out.
 */
export class LineLog {
  readonly #log: Logger
  readonly #line: LogLine

  constructor(log: Logger) {
    this.#log = log
    // Where a pino logger writes is reached by a symbol that pino documents for this.
    const stream: unknown = Reflect.get(log, pino.symbols.streamSym)
    if (!isStream(stream)) throw new TypeError('the logger has no stream')
    this.#line = new LogLine(stream)
  }

  /** One line, to be ended before the next; `undefined` when its level is not written. */
  begin(level: Level, now: number): LogLine | undefined {
    if (!this.#log.isLevelEnabled(level)) return undefined
    this.#line.begin(level, now)
    return this.#line
  }
}

const firstBytes = 2_048

/**
 * One line, put together as bytes: joining many short texts takes several times as long. Nothing is escaped and nothing
 * is looked at: whoever writes a member knows that it is no secret and needs no escape.
 */
export class LogLine {
  readonly #stream: LineDestination
  #room = new ByteRoom(firstBytes)
  #at = 0
  /**
   * How lines of this level and millisecond begin, one at a time: to write a time as text takes longer than all the
   * rest of a line.
   */
  #beginning = Buffer.alloc(0)
  #level: Level | undefined
  #millisecond = 0

  constructor(stream: LineDestination) {
    this.#stream = stream
  }

  begin(level: Level, now: number): void {
    if (now !== this.#millisecond || level !== this.#level) {
      this.#millisecond = now
      this.#level = level
      this.#beginning = Buffer.from(`{"level":"${level}","time":"${new Date(now).toISOString()}"`)
    }
    this.#at = 0
    this.bytes(this.#beginning)
  }

  text(text: string): void {
    // UTF-8 takes no more for a character of a JavaScript string.
    this.#makeRoom(text.length * 3)
    this.#at = putText(this.#room.bytes, this.#at, text)
  }

  number(value: number): void {
    this.#makeRoom(mostNumberBytes)
    this.#at = putNumber(this.#room.bytes, this.#at, value)
  }

  bytes(bytes: Buffer): void {
    this.#makeRoom(bytes.length)
    this.#at = putBytes(this.#room.bytes, this.#at, bytes)
  }

  /** `ending`: from the message on, with the line's own end; see `lineEnding`. */
  end(ending: Buffer): void {
    this.bytes(ending)
    const line = this.#room.first(this.#at)
    if (this.#stream.writeBytes) this.#stream.writeBytes(line)
    else this.#stream.write(line.toString())
  }

  #makeRoom(bytes: number): void {
    if (this.#at + bytes <= this.#room.bytes.length) return
    const larger = new ByteRoom(2 * (this.#at + bytes))
    larger.bytes.set(this.#room.first(this.#at))
    this.#room = larger
  }
}

export function lineEnding(message: string): Buffer {
  return Buffer.from(`,"msg":"${message}"}\n`)
}

function isStream(value: unknown): value is LineDestination {
  return typeof value === 'object' && value !== null && 'write' in value && typeof value.write === 'function'
}
