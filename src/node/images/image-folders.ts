import { existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, rmdirSync, writeFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { pathOf } from './tar/archive-fault.ts'
import { type FileLock, tryLock } from './file-lock.ts'
import { removeTreeInTurns } from './roots/root-files.ts'

/** The images folder of a data directory. */
export function imagesFolder(dataDirectory: string): string {
  return join(dataDirectory, 'images')
}

/** The working folder of one import, removed when the import ends or, after a kill, by the next import. */
export interface Staging {
  readonly folder: string
  readonly lock: FileLock
}

/**
 * Where images are on the disk:
 *
 *     images/index.json            names, and the image each of them means
 *     images/roots/<digest>/       rootfs/, config.json, and leases/ with a file for each container that uses it
 *     images/staging/<number>/     what is being imported, and what is being removed
 *     images/lock                  held while the index or the list of roots changes
 *
 * A root may be used as long as it has its leases/: taking one is making a file in there, giving up a root begins with
 * removing the empty folder. The kernel decides which of the two came first.
 */
export class ImageFolders {
  readonly base: string

  constructor(base: string) {
    this.base = base
  }

  get index(): string {
    return join(this.base, 'index.json')
  }

  get lock(): string {
    return join(this.base, 'lock')
  }

  make(): void {
    for (const folder of [this.base, this.#roots, this.#staging]) mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  root(id: string): string {
    return join(this.#roots, nameOf(id))
  }

  hasRoot(id: string): boolean {
    return existsSync(this.#leases(id))
  }

  /** Call with the lock held; otherwise a cleanup could take the new folder for an abandoned one. */
  beginStaging(): Staging {
    const folder = join(this.#staging, randomUUID())
    mkdirSync(folder, { mode: 0o700 })
    const lock = tryLock(join(folder, 'owner'))
    if (!lock) throw new Error(`${folder} is somebody else's`)
    return { folder: realpathSync.native(folder), lock }
  }

  async endStaging({ folder, lock }: Staging): Promise<void> {
    try {
      await removeTreeInTurns(pathOf(folder))
    } finally {
      lock.release()
    }
  }

  /** Completes a prepared root and renames it into place, from where it can be used. */
  place(prepared: string, id: string, config: Buffer): void {
    writeFileSync(join(prepared, 'config.json'), config, { mode: 0o600, flush: true })
    mkdirSync(join(prepared, 'leases'), { mode: 0o700 })
    renameSync(prepared, this.root(id))
  }

  /**
   * Gives up roots that no name refers to and no container uses. Call with the lock held; the returned folders can be
   * removed without it.
   */
  giveUp(isNamed: (id: string) => boolean): readonly Staging[] {
    const named = (name: string) => isNamed(name.replace('-', ':'))
    for (const name of namesIn(this.#roots).filter((candidate) => !named(candidate))) {
      if (!removedIfEmpty(join(this.#roots, name, 'leases'))) continue
      const aside = join(this.#staging, randomUUID())
      mkdirSync(aside, { mode: 0o700 })
      renameSync(join(this.#roots, name), join(aside, 'root'))
    }
    return namesIn(this.#staging).flatMap((name) => {
      const folder = join(this.#staging, name)
      const lock = tryLock(join(folder, 'owner'))
      return lock ? [{ folder, lock }] : []
    })
  }

  /** Keeps an image's files until they are let go; `false` if the image does not exist (any more). */
  hold(id: string, holder: string): boolean {
    try {
      writeFileSync(join(this.#leases(id), holder), '', { mode: 0o600 })
      return true
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false
      throw error
    }
  }

  letGo(id: string, holder: string): void {
    rmSync(join(this.#leases(id), holder), { force: true })
  }

  /** Lets go of images held for containers that no longer exist. */
  letGoUnless(isHolder: (holder: string) => boolean): void {
    for (const name of namesIn(this.#roots)) {
      const leases = join(this.#roots, name, 'leases')
      for (const holder of namesIn(leases)) if (!isHolder(holder)) rmSync(join(leases, holder), { force: true })
    }
  }

  #leases(id: string): string {
    return join(this.root(id), 'leases')
  }

  get #roots(): string {
    return join(this.base, 'roots')
  }

  get #staging(): string {
    return join(this.base, 'staging')
  }
}

function nameOf(id: string): string {
  return id.replace(':', '-')
}

function removedIfEmpty(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch (error) {
    // Without leases/, somebody who was then killed has already begun to give it up.
    return hasCode(error, 'ENOENT')
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
