import { closeSync, openSync, readSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { chooseModelFile, missingParts } from '../../engine/models/model-file.ts'

/** The word that a file of this format begins with, its version, and how many tensors and keys it has. */
const headerBytes = 24

/**
 * Why the engine would refuse what is at a path: a GGUF file, or a folder with one model in it. Looks at names and
 * first bytes only, because it is asked whenever somebody may want the model.
 */
export function ggufProblem(path: string, url: string): string | undefined {
  const isFolder = statSync(path).isDirectory()
  if (!isFolder && !path.endsWith('.gguf')) return `${url} is not a .gguf file: name one in spec.url.`
  const folder = isFolder ? path : dirname(path)
  const names = readdirSync(folder)
  const models = isFolder ? chooseModelFile(names) : [basename(path)]
  const [only] = models
  if (only === undefined) return `${url} has no .gguf file in it: put one into ${path}.`
  if (models.length > 1) {
    return `${url} has several models (${models.slice(0, 5).join(', ')}): leave one there, or name one in spec.url, such as ${url}/${only}.`
  }
  const missing = missingParts(only, names)
  if (missing.length > 0) return `${url} is not complete: ${missing[0]} is missing from ${folder}.`
  return isGguf(join(folder, only))
    ? undefined
    : `${only} at ${url} is not a GGUF model, or is cut off: put a whole one in its place.`
}

function isGguf(file: string): boolean {
  const descriptor = openSync(file, 'r')
  try {
    const header = Buffer.alloc(headerBytes)
    return readSync(descriptor, header) === headerBytes && header.toString('latin1', 0, 4) === 'GGUF'
  } finally {
    closeSync(descriptor)
  }
}
