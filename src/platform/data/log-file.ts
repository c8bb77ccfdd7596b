import { fstat, rename, renameSync, stat, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { type Logger, createLogger } from '../../foundation/log.ts'
import { LineFile } from './line-file.ts'

/** Repeats something as long as the program runs, without keeping it running. */
type Repeat = (everyMs: number, act: () => void) => void

export interface LogFileOptions {
  readonly repeat?: Repeat | undefined
  /** When the file has grown beyond this size, it is moved aside. */
  readonly largestBytes?: number | undefined
}

const defaultLargestBytes = 64 * 1024 * 1024
const flushEveryMs = 200
const lookEveryMs = 5_000

/**
 * The program's own log. When the file has grown too large, it replaces the one that was moved aside before, so there
 * are never more than two.
 */
export function openLogFile(path: string, options: LogFileOptions = {}): Logger {
  const { largestBytes = defaultLargestBytes } = options
  if (sizeOf(path) > largestBytes) renameSync(path, `${path}.1`)
  return logInto(path, options.repeat, async (destination) => {
    const { size } = await promisify(fstat)(destination.fd)
    if (size > largestBytes) await promisify(rename)(path, `${path}.1`)
  })
}

/** The path that stands for standard output, where whoever runs containers looks for their log. */
export const standardOutput = '-'

/** The same log for another thread. Lines are appended whole, so that threads can share a file. */
export function joinLogFile(path: string, options: Pick<LogFileOptions, 'repeat'> = {}): Logger {
  if (path === standardOutput) return logTo(new LineFile({ fd: 1 }), options.repeat ?? onTimer)
  return logInto(path, options.repeat, async () => {})
}

/** Every thread checks by itself whether another one has moved the file aside. */
function logInto(path: string, repeat: Repeat = onTimer, moveAside: (file: LineFile) => Promise<void>): Logger {
  const destination = new LineFile(path)
  const look = async () => {
    await moveAside(destination)
    const [named, open] = await Promise.all([
      promisify(stat)(path).catch(() => undefined),
      promisify(fstat)(destination.fd),
    ])
    if (named?.ino !== open.ino) destination.reopen()
  }
  // If a check fails, the next one tries again.
  repeat(lookEveryMs, () => void look().catch(() => {}))
  return logTo(destination, repeat)
}

function logTo(destination: LineFile, repeat: Repeat): Logger {
  repeat(flushEveryMs, () => destination.flush())
  process.once('exit', () => destination.close())
  return createLogger({ destination, level: process.env['SLUICE_LOG_LEVEL'] ?? 'info' })
}

function onTimer(everyMs: number, act: () => void): void {
  setInterval(act, everyMs).unref()
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
