import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'

/**
 * A lock that one process of the machine holds at a time. The operating system releases it when the process ends, so it
 * is never stale.
 */
export interface FileLock {
  release(): void
}

const askAgainMs = 50
const sqliteBusy = 5

/** `undefined` while another process holds the lock. */
export function tryLock(path: string): FileLock | undefined {
  return tryWith(path, 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
}

/** A lock that many may share, and that nobody can hold alone meanwhile. `undefined` while somebody does. */
export function tryShare(path: string): FileLock | undefined {
  // It is the reading that locks.
  return tryWith(path, 'BEGIN; SELECT count(*) FROM sqlite_schema')
}

function tryWith(path: string, commands: string): FileLock | undefined {
  const lock = new DatabaseSync(path)
  try {
    lock.exec(commands)
    return {
      release: () => {
        if (lock.isOpen) lock.close()
      },
    }
  } catch (error) {
    lock.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy) return undefined
    throw error
  }
}

/** Runs `work` while holding the lock. Such work is short, so waiting for the lock has a deadline. */
export async function withLock<T>(
  path: string,
  { clock, signal, deadlineMs }: { readonly clock: Clock; readonly signal: AbortSignal; readonly deadlineMs: number },
  work: () => T,
): Promise<T> {
  const until = clock.now() + deadlineMs
  for (;;) {
    signal.throwIfAborted()
    const lock = tryLock(path)
    if (lock) {
      try {
        return work()
      } finally {
        lock.release()
      }
    }
    if (clock.now() >= until) throw new SluiceError('images_busy', { path, seconds: Math.round(deadlineMs / 1000) })
    await clock.sleep(askAgainMs, signal)
  }
}
