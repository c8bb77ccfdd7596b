import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'

/** Where something keeps its files: a whole `sluice up`, or one of its clusters. */
export class DataFolder {
  readonly root: string

  constructor(root: string) {
    this.root = root
  }

  /** A folder in it, made if need be, that is used in the same way. */
  within(...segments: string[]): DataFolder {
    return new DataFolder(this.folder(...segments))
  }

  path(...segments: string[]): string {
    return join(this.root, ...segments)
  }

  /** Makes a folder below the root. */
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

  /** Writes a file that only its owner may read; a reader sees the old content or the new, never half. */
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

/** Where a `sluice up` keeps everything. Held by one process at a time. */
export class DataDirectory extends DataFolder {
  readonly #lock: DatabaseSync

  private constructor(root: string, lock: DatabaseSync) {
    super(root)
    this.#lock = lock
  }

  /** Creates the folder if need be and takes its lock; `data_directory_in_use` names the process that has it. */
  static open(path: string): DataDirectory {
    const root = resolve(path)
    mkdirSync(root, { recursive: true, mode: 0o700 })
    const directory = new DataDirectory(root, takeLock(root))
    directory.write('pid', `${process.pid}\n`)
    return directory
  }

  close(): void {
    this.remove('pid')
    this.#lock.close()
  }
}

/** Does something with a directory that nobody uses, and keeps others away meanwhile. Nothing in it is changed. */
export function whileUnused<T>(path: string, act: () => T): T {
  const root = resolve(path)
  // One that was never used has no lock, and gets none.
  if (!existsSync(join(root, 'lock'))) return act()
  const lock = takeLock(root)
  try {
    return act()
  } finally {
    lock.close()
  }
}

/** SQLite's lock is the operating system's: it goes with the process, so no lock can be stale. */
function takeLock(root: string): DatabaseSync {
  const lock = new DatabaseSync(join(root, 'lock'))
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    throw new SluiceError('data_directory_in_use', { path: root, pid: readPid(root) }, { cause: error })
  }
}

function readPid(root: string): string {
  try {
    return readFileSync(join(root, 'pid'), 'utf8').trim()
  } catch {
    return 'that holds its lock'
  }
}
