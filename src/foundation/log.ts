import { type DestinationStream, type Logger, pino } from 'pino'
import { ByteRoom } from './byte-room.ts'
import { mostNumberBytes, putBytes, putNumber, putText } from './put-bytes.ts'

export type { Logger }

export interface LogOptions {
  readonly level?: string
  readonly destination?: DestinationStream
}

/** Fields whose values must never reach a log, whatever object they arrive in. */
const secretFields = ['authorization', 'secretKey', 'token', 'password', 'data', 'stringData']

export function createLogger(options: LogOptions = {}): Logger {
  const settings = {
    level: options.level ?? 'info',
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: secretFields.flatMap((field) => [field, `*.${field}`]), censor: '[redacted]' },
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return options.destination ? pino(settings, options.destination) : pino(settings)
}

type Level = 'debug' | 'info' | 'warn'

/** A destination that takes lines as bytes, too, and has them when this returns. */
interface BytesDestination extends DestinationStream {
  writeBytes(line: Buffer): void
}

/**
 * Lines in the form of all others, for what is written tens of thousands of times a second: looking through its fields for
 * secrets costs several times as much as writing it. Bindings of a child are left out.
 */
export class MembersLog {
  readonly #log: Logger
  readonly #line: MembersLine

  constructor(log: Logger) {
    this.#log = log
    // Where a pino logger writes is reached by a symbol that pino documents for this.
    const stream: unknown = Reflect.get(log, pino.symbols.streamSym)
    if (!isStream(stream)) throw new TypeError('the logger has no stream')
    this.#line = new MembersLine(stream)
  }

  /** One line, to be ended before the next; `undefined` when its level is not written. */
  begin(level: Level, now: number): MembersLine | undefined {
    if (!this.#log.isLevelEnabled(level)) return undefined
    this.#line.begin(level, now)
    return this.#line
  }
}

const firstBytes = 2_048

/**
 * Members of a JSON object, put together as bytes: joining texts of a few letters takes several times as long. Whoever writes
 * them knows that there is no secret among them and nothing to escape.
 */
export class MembersLine {
  readonly #stream: DestinationStream | BytesDestination
  #room = new ByteRoom(firstBytes)
  #at = 0
  #level: Level | undefined
  #millisecond = 0
  #beginning = Buffer.alloc(0)

  constructor(stream: DestinationStream) {
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
    if ('writeBytes' in this.#stream) this.#stream.writeBytes(line)
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

function isStream(value: unknown): value is DestinationStream {
  return typeof value === 'object' && value !== null && 'write' in value && typeof value.write === 'function'
}

/** For tests and commands that have nothing to say. */
export const silentLogger: Logger = pino({ level: 'silent' })
