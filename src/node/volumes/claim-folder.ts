import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Beside the folders of claims; no claim's name begins with a dot. */
const owners = '.owners'
const claimPattern = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const namespacePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/**
 * Where the files of a claim are: `<claim>` for the first namespace that has one of the name, which is nearly always
 * the only one, and `<claim>@<namespace>` for every other. Claims of one name share nothing but the name.
 */
export function claimFolder(volumes: string, namespace: string, claim: string): string {
  return join(volumes, ownerOf(volumes, claim, namespace) === namespace ? claim : `${claim}@${namespace}`)
}

/** What is no name of a claim must not become a path. */
export function isClaimName(text: string): boolean {
  return claimPattern.test(text) && !text.includes('..')
}

/** The folder is this namespace's from now on, unless it is somebody's already. */
export function reserveClaimFolder(volumes: string, namespace: string, claim: string): void {
  ownerOf(volumes, claim, namespace)
}

/** The files are gone: whoever comes next is the first again. */
export function releaseClaimFolder(volumes: string, namespace: string, claim: string): void {
  const path = join(volumes, owners, claim)
  if (readOwner(path) === namespace) rmSync(path, { force: true })
}

function ownerOf(volumes: string, claim: string, candidate: string): string {
  if (!isClaimName(claim)) throw new Error(`"${claim}" cannot be the name of a claim`)
  const path = join(volumes, owners, claim)
  const known = readOwner(path)
  if (known !== undefined) return known
  mkdirSync(join(volumes, owners), { recursive: true, mode: 0o700 })
  writeFileSync(path, candidate, { mode: 0o600 })
  return candidate
}

/** `undefined` where nobody has it, or what a crash left half written does not say who. */
function readOwner(path: string): string | undefined {
  try {
    const namespace = readFileSync(path, 'utf8')
    return namespacePattern.test(namespace) ? namespace : undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
