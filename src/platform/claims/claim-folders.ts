import { randomBytes } from 'node:crypto'
import { lstat, mkdir, readdir, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { claimFolder, releaseClaimFolder } from '../../node/volumes/claim-folder.ts'
import { removeFolder } from '../../node/volumes/remove-folder.ts'

/** Marks folders that are to be removed. No claim's name begins with a dot. */
const removed = '.removed-'

/**
 * The folders with the content of this machine's claims: `volumes/<claim>/`, or another one if a claim of the same name
 * in another namespace has that.
 */
export class ClaimFolders {
  readonly #volumes: string

  constructor(volumes: string) {
    this.#volumes = volumes
  }

  /** Creates the folder if it is missing. `filled` means that somebody has put something into it, or in its place. */
  async prepare(claim: string, namespace: string): Promise<'empty' | 'filled'> {
    const folder = this.#folder(claim, namespace)
    await mkdir(this.#volumes, { recursive: true, mode: 0o700 })
    const found = await lstat(folder).catch(() => undefined)
    if (!found) await mkdir(folder, { recursive: true })
    // A link, for example: it leads to data that somebody keeps elsewhere.
    if (found && !found.isDirectory()) return 'filled'
    return (await readdir(folder)).length === 0 ? 'empty' : 'filled'
  }

  /**
   * Renames the folder in one step before removing it, so that a new claim of the same name begins with an empty
   * folder, however long the removal takes.
   */
  async remove(claim: string, namespace: string): Promise<void> {
    const folder = this.#folder(claim, namespace)
    const found = await lstat(folder).catch(() => undefined)
    if (found?.isDirectory()) {
      await rename(folder, join(this.#volumes, `${removed}${basename(folder)}-${randomBytes(6).toString('hex')}`))
    }
    // If somebody put something else in the folder's place, it stays, and so does the record of whose it is.
    if (!found || found.isDirectory()) releaseClaimFolder(this.#volumes, namespace, claim)
    await this.sweep()
  }

  /** Removes what an earlier removal could not finish. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#volumes).catch(() => [])
    for (const name of names.filter((candidate) => candidate.startsWith(removed))) {
      await removeFolder(join(this.#volumes, name))
    }
  }

  #folder(claim: string, namespace: string): string {
    return claimFolder(this.#volumes, namespace, claim)
  }
}
