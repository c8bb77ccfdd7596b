import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'

const shardName = /-(\d{5})-of-(\d{5})\.gguf$/

/**
 * The file to load for a path, which is a `.gguf` file or a directory with one model in it. For a split model it is the
 * first part.
 */
export async function findModelFile(modelPath: string): Promise<string> {
  const info = await stat(modelPath).catch((error: unknown) => {
    throw new SluiceError('model_files_unusable', { reason: `${modelPath} cannot be read: ${errorMessage(error)}` })
  })
  if (!info.isDirectory()) {
    if (modelPath.endsWith('.gguf')) return modelPath
    throw new SluiceError('model_files_unusable', { reason: `${modelPath} is not a .gguf file.` })
  }
  const chosen = chooseModelFile(await readdir(modelPath))
  if (chosen.length === 1 && chosen[0]) return join(modelPath, chosen[0])
  throw new SluiceError('model_files_unusable', {
    reason:
      chosen.length === 0
        ? `${modelPath} has no .gguf file in it. Put the model there, or pull one with \`sluice model pull\`.`
        : `${modelPath} has several models (${chosen.join(', ')}); name the one file to serve.`,
  })
}

/** The models among the file names of a directory: whole files, and the first part of each split model. */
export function chooseModelFile(names: readonly string[]): string[] {
  return names
    .filter((name) => name.endsWith('.gguf') && !name.startsWith('.'))
    .filter((name) => (shardName.exec(name)?.[1] ?? '00001') === '00001')
    .toSorted()
}

/** The parts of a split model, whose first is `first`, that are not among the file names of its directory. */
export function missingParts(first: string, names: readonly string[]): string[] {
  return partNames(first).filter((name) => !names.includes(name))
}

/** All files of a model, of which `first` is the only or the first. */
export function modelFiles(first: string): readonly string[] {
  return partNames(first)
}

function partNames(first: string): string[] {
  const parts = Number(shardName.exec(first)?.[2] ?? 1)
  const name = (index: number) => first.replace(/\d{5}(?=-of-\d{5}\.gguf$)/, String(index).padStart(5, '0'))
  return Array.from({ length: parts }, (_, index) => name(index + 1))
}

/** How many bytes a model has in all its files, of which `file` is the only or the first. */
export async function modelBytes(file: string): Promise<number> {
  const sizes = partNames(file).map(async (part) => {
    // llama.cpp says which part is missing.
    const found = await stat(part).catch(() => undefined)
    return found?.size ?? 0
  })
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
