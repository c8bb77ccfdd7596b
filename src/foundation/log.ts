import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger }

export interface LogOptions {
  readonly level?: string
  readonly destination?: DestinationStream
}

/** Fields whose values must never be logged, in whatever object they are. */
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

/** A logger that writes nothing, for tests and for commands without a log. */
export const silentLogger: Logger = pino({ level: 'silent' })
