import { randomBytes } from 'node:crypto'
import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { CachedWeights } from './cached-weights.ts'

/**
 * Makes the Model appear at its path below `linkFolder`, wherever its files are. Each Pod has links of its own, so that
 * it keeps the version it was started with.
 */
export function linkWeights({ folder, manifest }: CachedWeights, linkFolder: string, path: string): void {
  const place = join(linkFolder, path)
  mkdirSync(dirname(place), { recursive: true })
  if (manifest.isFolder) link(folder, place)
  else for (const { name } of manifest.files) link(join(folder, name), join(dirname(place), name))
}

/** Replaces a link of an earlier run in one step. */
function link(target: string, place: string): void {
  const temporary = join(dirname(place), `.link-${randomBytes(6).toString('hex')}`)
  symlinkSync(target, temporary)
  renameSync(temporary, place)
}
