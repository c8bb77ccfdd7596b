import { type DestinationStream, type Logger, pino } from 'pino'

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

/**
 * Lines in the form of all others, for what is written tens of thousands of times a second: looking through its fields for
 * secrets costs several times as much as writing it. The caller gives them as members of a JSON object, and knows that there is
 * no secret among them and nothing to escape. Bindings of a child are left out.
 */
export class MembersLog {
  readonly #log: Logger
  readonly #stream: DestinationStream

  constructor(log: Logger) {
    this.#log = log
    // Where a pino logger writes is reached by a symbol that pino documents for this.
    const stream: unknown = Reflect.get(log, pino.symbols.streamSym)
    if (!isStream(stream)) throw new TypeError('the logger has no stream')
    this.#stream = stream
  }

  write(level: 'debug' | 'info' | 'warn', members: string, message: string, now: number): void {
    if (!this.#log.isLevelEnabled(level)) return
    this.#stream.write(`{"level":"${level}","time":"${isoTime(now)}",${members},"msg":"${message}"}\n`)
  }
}

function isStream(value: unknown): value is DestinationStream {
  return typeof value === 'object' && value !== null && 'write' in value && typeof value.write === 'function'
}

let lastMillisecond = 0
let lastTime = ''

function isoTime(now: number): string {
  if (now !== lastMillisecond) {
    lastMillisecond = now
    lastTime = new Date(now).toISOString()
  }
  return lastTime
}

/** For tests and commands that have nothing to say. */
export const silentLogger: Logger = pino({ level: 'silent' })
