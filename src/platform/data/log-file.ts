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
  return logInto(path, options.repeat, largestBytes)
}

/** The path that stands for standard output, where whoever runs containers looks for their log. */
export const standardOutput = '-'

/** The same log for another thread. Lines are appended whole, so that threads can share a file. */
export function joinLogFile(path: string, options: Pick<LogFileOptions, 'repeat'> = {}): Logger {
  if (path === standardOutput) return logTo(new LineFile({ fd: 1 }), options.repeat ?? onTimer)
  return logInto(path, options.repeat, Number.POSITIVE_INFINITY)
}

/** Every thread checks by itself whether another one has moved the file aside. */
function logInto(path: string, repeat: Repeat = onTimer, largestBytes: number): Logger {
  const destination = new LineFile(path)
  let looking = false
  const look = async () => {
    const named = await promisify(stat)(path).catch(() => undefined)
    const step = whatToDo(named, await promisify(fstat)(destination.fd), largestBytes)
    if (step === 'move aside') await promisify(rename)(path, `${path}.1`)
    if (step !== 'go on') destination.reopen()
  }
  repeat(lookEveryMs, () => {
    // A slow disk may take longer than it is until the next one.
    if (looking) return
    looking = true
    // If a check fails, the next one tries again.
    void look()
      .catch(() => {})
      .finally(() => (looking = false))
  })
  return logTo(destination, repeat)
}

interface FileFacts {
  readonly ino: number
  readonly size: number
}

/**
 * What a thread does about the file that it has open, where `named` is what has the log's name now. While a write is
 * under way, the open one may be one that was moved aside already: the new one must not follow it, or the lines of the
 * old one are gone.
 */
export function whatToDo(
  named: FileFacts | undefined,
  open: FileFacts,
  largestBytes: number,
): 'go on' | 'move aside' | 'open anew' {
  if (named?.ino !== open.ino) return 'open anew'
  return open.size > largestBytes ? 'move aside' : 'go on'
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
