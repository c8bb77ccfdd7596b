import { readdirSync, realpathSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { errorMessage } from '../../foundation/errors.ts'
import { claimFolder } from '../../node/volumes/claim-folder.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { ggufProblem } from './gguf-files.ts'

/** What is known about a model's files before a Pod is created for it. */
export interface FileCheck {
  /** `unusable`: they are there, and the engine cannot serve them. */
  readonly state: 'present' | 'missing' | 'unusable'
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

  /** `form`: what the engine wants them to be. What is there counts, whatever became of fetching it. */
  check(claim: string, path: string, form?: 'gguf'): FileCheck {
    const found = this.#look(claim, path, form)
    const fetching = found.state === 'present' ? undefined : this.#fetching(claim, path)
    return fetching ? { state: 'missing', ...fetching } : found
  }

  #look(claim: string, path: string, form: 'gguf' | undefined): FileCheck {
    const url = `pvc://${claim}/${path}`
    const root = claimFolder(this.#volumes, gatewayNamespace, claim)
    const place = join(root, path)
    const real = realPath(place)
    if (real === undefined) {
      return { state: 'missing', message: `There is nothing at ${url}: put the model's files into ${place}.` }
    }
    if (!`${real}${sep}`.startsWith(`${realPath(root)}${sep}`)) {
      return { state: 'missing', message: `${url} leads out of the claim ${claim}: put the files themselves there.` }
    }
    try {
      if (statSync(real).isDirectory() && readdirSync(real).length === 0) {
        return { state: 'missing', message: `${url} is empty: put the model's files into ${place}.` }
      }
      const problem = form === 'gguf' ? ggufProblem(real, url) : undefined
      return problem === undefined ? { state: 'present' } : { state: 'unusable', message: problem }
    } catch (error) {
      return { state: 'unusable', message: `${url} cannot be read: ${errorMessage(error)}.` }
    }
  }
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}
