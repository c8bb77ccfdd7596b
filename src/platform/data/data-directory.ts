import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { checkDirectory } from './check-directory.ts'

/** A folder for the files of `sluice up`, or of one of its clusters. */
export class DataFolder {
  readonly root: string

  constructor(root: string) {
    this.root = root
  }

  /** A folder inside this one, created if it is missing. */
  within(...segments: string[]): DataFolder {
    return new DataFolder(this.folder(...segments))
  }

  path(...segments: string[]): string {
    return join(this.root, ...segments)
  }

  /** Creates a folder inside this one, if it is missing, and returns its path. */
  folder(...segments: string[]): string {
    const path = this.path(...segments)
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return path
  }

  read(name: string): string | undefined {
    try {
      return readFileSync(this.path(name), 'utf8')
    } catch (error) {
      if (errorMessage(error).startsWith('ENOENT')) return undefined
      throw error
    }
  }

  /** Writes a file that only its owner may read. Readers see either the old content or the new, never a part of it. */
  write(name: string, content: string): void {
    const path = this.path(name)
    const temporary = `${path}.${process.pid}.new`
    writeFileSync(temporary, content, { mode: 0o600, flush: true })
    renameSync(temporary, path)
  }

  remove(name: string): void {
    rmSync(this.path(name), { force: true })
  }
}

/** The folder in which `sluice up` keeps everything. Only one process at a time can use it. */
export class DataDirectory extends DataFolder {
  readonly #lock: DatabaseSync

  private constructor(root: string, lock: DatabaseSync) {
    super(root)
    this.#lock = lock
  }

  /**
   * Creates the folder if it is missing, and locks it. The error `data_directory_in_use` names the process that uses
   * it.
   */
  static open(path: string): DataDirectory {
    const root = resolve(path)
    checkDirectory(root)
    const directory = new DataDirectory(root, takeLock(root))
    directory.write('pid', `${process.pid}\n`)
    return directory
  }

  close(): void {
    this.remove('pid')
    this.#lock.close()
  }
}

/**
 * Acts on a directory that no process uses, and keeps others from starting with it meanwhile. Changes nothing in it.
 */
export function whileUnused<T>(path: string, act: () => T): T {
  const release = lockUnused(path)
  try {
    return act()
  } finally {
    release()
  }
}

/** Keeps others from starting with a directory until the returned function is called. */
export function lockUnused(path: string): () => void {
  const root = resolve(path)
  // A directory that was never used has no lock, and gets none.
  if (!existsSync(join(root, 'lock'))) return () => {}
  const lock = takeLock(root)
  return () => lock.close()
}

/** SQLite locks through the operating system, which releases the lock with the process: it can never be stale. */
function takeLock(root: string): DatabaseSync {
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(join(root, 'lock'))
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock?.close()
    if (errorMessage(error).includes('locked')) {
      throw new SluiceError('data_directory_in_use', { path: root, pid: readPid(root) }, { cause: error })
    }
    const reason = `its lock cannot be opened (${errorMessage(error)})`
    throw new SluiceError('data_directory_unusable', { path: root, reason }, { cause: error })
  }
}

function readPid(root: string): string {
  try {
    return readFileSync(join(root, 'pid'), 'utf8').trim()
  } catch {
    return 'that holds its lock'
  }
}
