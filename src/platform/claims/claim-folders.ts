import { randomBytes } from 'node:crypto'
import { lstat, mkdir, readdir, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { claimFolder, releaseClaimFolder } from '../../node/volumes/claim-folder.ts'
import { removeFolder } from '../../node/volumes/remove-folder.ts'

/** No claim's name begins with a dot. */
const removed = '.removed-'

/** `volumes/<claim>/`, or another where another namespace has that: what is in the claims of this machine. */
export class ClaimFolders {
  readonly #volumes: string

  constructor(volumes: string) {
    this.#volumes = volumes
  }

  /**
   * Makes the folder where there is none. `filled` when somebody has put something there, or put something in its
   * place.
   */
  async prepare(claim: string, namespace: string): Promise<'empty' | 'filled'> {
    const folder = this.#folder(claim, namespace)
    await mkdir(this.#volumes, { recursive: true, mode: 0o700 })
    const found = await lstat(folder).catch(() => undefined)
    if (!found) await mkdir(folder, { recursive: true })
    // A link leads to what somebody keeps elsewhere.
    if (found && !found.isDirectory()) return 'filled'
    return (await readdir(folder)).length === 0 ? 'empty' : 'filled'
  }

  /**
   * Moved away in one step first: whoever makes a claim of the name again begins with an empty folder, however long it
   * takes.
   */
  async remove(claim: string, namespace: string): Promise<void> {
    const folder = this.#folder(claim, namespace)
    const found = await lstat(folder).catch(() => undefined)
    if (found?.isDirectory()) {
      await rename(folder, join(this.#volumes, `${removed}${basename(folder)}-${randomBytes(6).toString('hex')}`))
    }
    // What is in the place of a folder stays, and whose it is, too.
    if (!found || found.isDirectory()) releaseClaimFolder(this.#volumes, namespace, claim)
    await this.sweep()
  }

  /** Removes what an earlier removal, or one that was killed, has left. */
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
