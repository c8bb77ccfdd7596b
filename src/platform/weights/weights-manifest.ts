import { createHash } from 'node:crypto'
import { type Stats, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'

export interface WeightsFile {
  /** Below the folder that is copied. */
  readonly name: string
  readonly size: number
  readonly changedMs: number
}

/** What a Model consists of, as it is in its claim. */
export interface WeightsManifest {
  /** The same for the same files only, as far as their sizes and times tell. */
  readonly key: string
  /** The folder that the names are below. */
  readonly folder: string
  /** Whether the Model is that folder, and not a file in it. */
  readonly isFolder: boolean
  readonly files: readonly WeightsFile[]
  readonly bytes: number
}

export interface WeightsSource {
  /** Where the claim is mounted. */
  readonly claimFolder: string
  readonly claimName: string
  /** The Model's path in it. */
  readonly path: string
}

const mostFiles = 100_000
const deepest = 32

/** One part of several: `model-00001-of-00007.gguf`. Whoever opens one opens all. */
const partPattern = /^(.*)-\d{5}-of-(\d{5}\.gguf)$/

/**
 * Reads names, sizes and times. Links are followed, as long as they stay in the claim; in a container others lead
 * nowhere, and are left out.
 */
export function readManifest({ claimFolder, claimName, path }: WeightsSource): WeightsManifest {
  const root = realpathSync(claimFolder)
  const place = join(root, path)
  const found = statWithin(root, place)
  if (!found) throw new Error(`there is nothing at ${path} in the claim ${claimName}`)
  const isFolder = found.isDirectory()
  const folder = isFolder ? place : dirname(place)
  const names = isFolder ? [...filesBelow(root, folder, '', 0)] : partsOf(folder, basename(place))
  if (names.length > mostFiles) throw new Error(`${path} has more than ${mostFiles} files`)
  const files = names.toSorted().flatMap((name) => {
    const file = statWithin(root, join(folder, name))
    return file ? [{ name, ...versionOf(file) }] : []
  })
  const identity = [claimName, path, isFolder, files.map(({ name, size, changedMs }) => [name, size, changedMs])]
  return {
    key: createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 32),
    folder,
    isFolder,
    files,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
  }
}

/** By which a file is told from what it was before. Some file systems keep whole milliseconds only. */
export function versionOf({ size, mtimeMs }: Stats): Pick<WeightsFile, 'size' | 'changedMs'> {
  return { size, changedMs: Math.round(mtimeMs) }
}

function* filesBelow(root: string, folder: string, below: string, depth: number): Generator<string> {
  if (depth > deepest) throw new Error(`${folder} has folders deeper than ${deepest}`)
  for (const name of readdirSync(join(folder, below))) {
    const path = below === '' ? name : `${below}/${name}`
    const found = statWithin(root, join(folder, path))
    if (found?.isDirectory()) yield* filesBelow(root, folder, path, depth + 1)
    else if (found?.isFile()) yield path
  }
}

function partsOf(folder: string, name: string): string[] {
  const [, head, tail] = partPattern.exec(name) ?? []
  if (head === undefined) return [name]
  return readdirSync(folder).filter((other) => {
    const [, otherHead, otherTail] = partPattern.exec(other) ?? []
    return otherHead === head && otherTail === tail
  })
}

function statWithin(root: string, path: string): Stats | undefined {
  try {
    const real = realpathSync(path)
    return real === root || real.startsWith(root + sep) ? statSync(real) : undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ELOOP'))
      return undefined
    throw error
  }
}
