import { renameSync, statSync } from 'node:fs'
import { type Logger, createLogger } from '../foundation/log.ts'
import { GatheredFile } from './gathered-file.ts'

const largestBytes = 64 * 1024 * 1024
const flushEveryMs = 200

/** The program's own log. One that has grown large is kept aside once at the start, so that two files are the most. */
export function openLogFile(path: string): Logger {
  if (sizeOf(path) > largestBytes) renameSync(path, `${path}.1`)
  return joinLogFile(path)
}

/** For a further thread of the program: lines are appended whole, so threads can write to one file. */
export function joinLogFile(path: string): Logger {
  const destination = new GatheredFile(path)
  setInterval(() => destination.flush(), flushEveryMs).unref()
  process.once('exit', () => destination.close())
  return createLogger({ destination, level: process.env['SLUICE_LOG_LEVEL'] ?? 'info' })
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
