import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folder with the owner of each claim name; no claim's name begins with a dot. */
const owners = '.owners'
const claimPattern = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const namespacePattern = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/**
 * The folder of a claim: `<claim>` for the first namespace with a claim of this name, which is nearly always the only
 * one, and `<claim>@<namespace>` for all others.
 */
export function claimFolder(volumes: string, namespace: string, claim: string): string {
  return join(volumes, ownerOf(volumes, claim, namespace) === namespace ? claim : `${claim}@${namespace}`)
}

/** Checks a claim's name before it becomes part of a path. */
export function isClaimName(text: string): boolean {
  return claimPattern.test(text) && !text.includes('..')
}

/** Reserves the folder for this namespace, unless another already has it. */
export function reserveClaimFolder(volumes: string, namespace: string, claim: string): void {
  ownerOf(volumes, claim, namespace)
}

/** Releases the folder, so that the next namespace can be the first again. */
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

/** `undefined` if nobody has it, or a crash left the file half written. */
function readOwner(path: string): string | undefined {
  try {
    const namespace = readFileSync(path, 'utf8')
    return namespacePattern.test(namespace) ? namespace : undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
