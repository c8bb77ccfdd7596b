import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import { LineReader } from './line-reader.ts'

/** How many there may be beside the one that is written to, whatever is asked for. */
export const mostOlderAuditFiles = 100

const lookEveryMs = 300

export function auditFile(dataDirectory: string): string {
  return join(dataDirectory, 'logs', 'audit.log')
}

/** `age` 1 is the one before the current. */
export function olderAuditFile(path: string, age: number): string {
  return `${path}.${age}`
}

export interface AuditLinesOptions {
  /** Those that come from now on too, until it is aborted. */
  readonly follow?: { readonly clock: Clock; readonly signal: AbortSignal } | undefined
  /** Called whenever every line that there is was given. */
  readonly onCaughtUp?: (() => void) | undefined
}

/** The lines of all files, the oldest first. */
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
 * Opens the newest first, since files only ever become older: one that is moved meanwhile is met again and not missed.
 * `known`: only those that are newer than this one.
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
