import { homedir } from 'node:os'
import { join } from 'node:path'
import { userDataClaim } from '../../resources/persistent-volume-claim.ts'

/** Where pulled models are kept, once per machine, for all data directories. */
export function modelCacheDirectory(environment: NodeJS.ProcessEnv = process.env): string {
  return join(environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'sluice', 'models')
}

/** Where a data directory keeps the content of claims. */
export function volumesDirectory(dataDirectory: string): string {
  return join(dataDirectory, 'volumes')
}

/** The path of a pulled model inside the claim for user data. */
export function modelPathInClaim(name: string): string {
  return `models/${name}`
}

export function modelDirectory(dataDirectory: string, name: string): string {
  return join(volumesDirectory(dataDirectory), userDataClaim, modelPathInClaim(name))
}
