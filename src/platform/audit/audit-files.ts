import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { LineReader } from './line-reader.ts'

/** The most older files that may be kept beside the current one, whatever is asked for. */
export const mostOlderAuditFiles = 100

const lookEveryMs = 300

export function auditFile(dataDirectory: string): string {
  return join(dataDirectory, 'logs', 'audit.log')
}

/** An `age` of 1 is the file right before the current one. */
export function olderAuditFile(path: string, age: number): string {
  return `${path}.${age}`
}

export interface AuditLinesOptions {
  /** Waits for further lines, too, until the signal is aborted. */
  readonly follow?: { readonly clock: Clock; readonly signal: AbortSignal } | undefined
  /** Called whenever all existing lines have been returned. */
  readonly onCaughtUp?: (() => void) | undefined
}

/** The lines of all files, oldest first. */
export async function* auditLines(path: string, options: AuditLinesOptions = {}): AsyncGenerator<string> {
  const { follow, onCaughtUp } = options
  let files = await openAll(path)
  if (files.length === 0) throw new SluiceError('audit_log_missing', { path })
  try {
    for (;;) {
      const newest = files.at(-1)
      for (const file of files) yield* file.lines()
      onCaughtUp?.()
      if (!follow || !newest) return
      await Promise.all(files.slice(0, -1).map((file) => file.close()))
      files = [newest]
      await follow.clock.sleep(lookEveryMs, follow.signal).catch(() => {})
      if (follow.signal.aborted) return
      files.push(...(await openAll(path, newest.inode)))
    }
  } finally {
    await Promise.all(files.map((file) => file.close()))
  }
}

/**
 * Opens the newest file first. Files only ever get older names, so one that is renamed meanwhile is met twice rather
 * than missed. With `known`, opens only files that are newer than that one.
 */
async function openAll(path: string, known?: bigint): Promise<LineReader[]> {
  const found: LineReader[] = []
  for (let age = 0; age <= mostOlderAuditFiles; age += 1) {
    const handle = await openIfThere(age === 0 ? path : olderAuditFile(path, age))
    if (!handle) continue
    const { ino } = await handle.stat({ bigint: true })
    if (ino === known) {
      await handle.close()
      break
    }
    if (found.some(({ inode }) => inode === ino)) await handle.close()
    else found.unshift(new LineReader(handle, ino))
  }
  return found
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
