import { fstat, rename, renameSync, stat, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { type Logger, createLogger } from '../../foundation/log.ts'
import { LineFile } from './line-file.ts'

/** Does something again and again, as long as the program runs and without keeping it running. */
type Repeat = (everyMs: number, act: () => void) => void

export interface LogFileOptions {
  readonly repeat?: Repeat | undefined
  /** A file that has grown beyond this is moved aside. */
  readonly largestBytes?: number | undefined
}

const defaultLargestBytes = 64 * 1024 * 1024
const flushEveryMs = 200
const lookEveryMs = 5_000

/**
 * The program's own log. One that has grown large is moved aside, over the one before it: two files are the most there
 * are.
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

/** For a further thread of the program: lines are appended whole, so threads can write to one file. */
export function joinLogFile(path: string, options: Pick<LogFileOptions, 'repeat'> = {}): Logger {
  if (path === standardOutput) return logTo(new LineFile({ fd: 1 }), options.repeat ?? onTimer)
  return logInto(path, options.repeat, async () => {})
}

/** Every thread notices by itself when its file is no longer the one of that name, whoever moved it. */
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
  // A look that fails is followed by another one.
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
