import { readdirSync, realpathSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { claimFolder } from '../../node/volumes/claim-folder.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'

/** What is known about a model's files before a Pod is created for it. */
export interface FileCheck {
  readonly state: 'present' | 'missing'
  readonly message?: string
  /** Whether the files are being fetched right now. */
  readonly pending?: boolean
}

/** Tells whether somebody is fetching these files and, if not, why they are missing. */
export type FetchStatus = (
  claim: string,
  path: string,
) => { readonly message: string; readonly pending: boolean } | undefined

/** Looks for files in this machine's claims of the Models' namespace. */
export class ClaimFiles {
  readonly #volumes: string
  readonly #fetching: FetchStatus

  constructor(volumes: string, fetching: FetchStatus = () => undefined) {
    this.#volumes = volumes
    this.#fetching = fetching
  }

  check(claim: string, path: string): FileCheck {
    const fetching = this.#fetching(claim, path)
    if (fetching) return { state: 'missing', ...fetching }
    const url = `pvc://${claim}/${path}`
    try {
      const root = claimFolder(this.#volumes, gatewayNamespace, claim)
      const real = realpathSync.native(join(root, path))
      if (!`${real}${sep}`.startsWith(`${realpathSync.native(root)}${sep}`)) {
        return { state: 'missing', message: `${url} leads out of the claim ${claim}` }
      }
      const facts = statSync(real)
      if (facts.isDirectory() && readdirSync(real).length === 0) return { state: 'missing', message: `${url} is empty` }
      return { state: 'present' }
    } catch {
      return { state: 'missing', message: `there is nothing at ${url}: put the model's files there` }
    }
  }
}
