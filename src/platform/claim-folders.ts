import { randomBytes } from 'node:crypto'
import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'

const claimPattern = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
/** No claim's name begins with a dot. */
const removed = '.removed-'

/** `volumes/<claim>/`: what is in the claims of this machine. */
export class ClaimFolders {
  readonly #volumes: string

  constructor(volumes: string) {
    this.#volumes = volumes
  }

  /** Makes the folder where there is none. `filled` when somebody has put something there, or put something in its place. */
  async prepare(claim: string): Promise<'empty' | 'filled'> {
    const folder = this.#folder(claim)
    await mkdir(this.#volumes, { recursive: true })
    const found = await lstat(folder).catch(() => undefined)
    if (!found) await mkdir(folder, { recursive: true })
    // A link leads to what somebody keeps elsewhere.
    if (found && !found.isDirectory()) return 'filled'
    return (await readdir(folder)).length === 0 ? 'empty' : 'filled'
  }

  /** Moved away in one step first: whoever makes a claim of the name again begins with an empty folder, however long it takes. */
  async remove(claim: string): Promise<void> {
    const folder = this.#folder(claim)
    const found = await lstat(folder).catch(() => undefined)
    if (found?.isDirectory()) {
      await rename(folder, join(this.#volumes, `${removed}${claim}-${randomBytes(6).toString('hex')}`))
    }
    await this.sweep()
  }

  /** Removes what an earlier removal, or one that was killed, has left. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#volumes).catch(() => [])
    for (const name of names.filter((candidate) => candidate.startsWith(removed))) {
      await rm(join(this.#volumes, name), { recursive: true, force: true })
    }
  }

  #folder(claim: string): string {
    if (!claimPattern.test(claim) || claim.includes('..')) throw new Error(`"${claim}" cannot be the name of a claim`)
    return join(this.#volumes, claim)
  }
}
