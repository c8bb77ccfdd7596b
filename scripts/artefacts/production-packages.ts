import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { root } from './repository.ts'

const names = z.record(z.string(), z.string()).optional()
const lockedPackage = z.looseObject({
  name: z.string().optional(),
  version: z.string().optional(),
  resolved: z.string().optional(),
  integrity: z.string().optional(),
  license: z.union([z.string(), z.array(z.unknown()), z.looseObject({})]).optional(),
  dev: z.boolean().optional(),
  optional: z.boolean().optional(),
  os: z.array(z.string()).optional(),
  cpu: z.array(z.string()).optional(),
  libc: z.array(z.string()).optional(),
  dependencies: names,
  optionalDependencies: names,
})
const lockFile = z.looseObject({ packages: z.record(z.string(), lockedPackage) })

export type LockedPackage = z.infer<typeof lockedPackage>

/** What package-lock.json says about each package, by its folder. */
export const lockedPackages = lockFile.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))).packages

/**
 * The folders of packages that some of the program's dependencies bring, as Node would find them: those that are
 * installed here, or those for which something else holds.
 */
export function foldersOf(
  dependencies: readonly string[],
  isThere: (folder: string) => boolean = (folder) => existsSync(join(root, folder)),
): ReadonlySet<string> {
  const found = new Set<string>()
  const visit = (name: string, from: string) => {
    const folder = folderOf(name, from, isThere)
    if (folder === undefined || found.has(folder)) return
    found.add(folder)
    const { dependencies: needed = {}, optionalDependencies: optional = {} } = lockedPackages[folder] ?? {}
    for (const further of Object.keys({ ...needed, ...optional })) visit(further, folder)
  }
  for (const name of dependencies) visit(name, '')
  return found
}

/** Looks where Node would: beside the package's own packages first, then further up. */
function folderOf(name: string, from: string, isThere: (folder: string) => boolean): string | undefined {
  const owners = from.split(/(?:^|\/)node_modules\//).slice(1)
  for (let depth = owners.length; depth >= 0; depth -= 1) {
    const folder = [...owners.slice(0, depth), name].map((owner) => `node_modules/${owner}`).join('/')
    if (folder in lockedPackages && isThere(folder)) return folder
  }
  return undefined
}
