import { pino } from 'pino'
import type { Logger } from '../../foundation/log.ts'
import { ByteRoom } from '../../relay/bytes/byte-room.ts'
import { mostNumberBytes, putBytes, putNumber, putText } from '../../relay/bytes/put-bytes.ts'

type Level = 'debug' | 'info' | 'warn'

/** Where lines are written. `writeBytes` has copied the bytes when it returns. */
interface LineDestination {
  write(line: string): void
  writeBytes?(line: Buffer): void
}

/**
 * Writes log lines member by member, in pino's form. pino itself is too slow for a line per request: searching its
 * fields for secrets costs several times as much as writing them. Fields of child loggers are left out.
 */
export class LineLog {
  readonly #log: Logger
  readonly #line: LogLine

  constructor(log: Logger) {
    this.#log = log
    // pino documents this symbol for reaching a logger's stream.
    const stream: unknown = Reflect.get(log, pino.symbols.streamSym)
    if (!isStream(stream)) throw new TypeError('the logger has no stream')
    this.#line = new LogLine(stream)
  }

  /** Begins a line, to be ended before the next; `undefined` if its level is not logged. */
  begin(level: Level, now: number): LogLine | undefined {
    if (!this.#log.isLevelEnabled(level)) return undefined
    this.#line.begin(level, now)
    return this.#line
  }
}

const firstBytes = 2_048

/**
 * One line, assembled as bytes, which is several times faster than joining strings. Nothing is escaped or redacted:
 * callers write only members that need neither.
 */
export class LogLine {
  readonly #stream: LineDestination
  #room = new ByteRoom(firstBytes)
  #at = 0
  /**
   * The beginning of lines of one level and millisecond. Only the last is remembered: formatting a time takes longer
   * than the rest of a line.
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
    // The most bytes that UTF-8 needs per UTF-16 unit.
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

  /** `ending`: the message and the end of the line; see `lineEnding`. */
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
