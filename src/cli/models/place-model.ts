import { constants } from 'node:fs'
import { copyFile, link, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { modelDirectory } from '../../platform/models/model-storage.ts'

const shardForm = /^(.*)-\d{5}-of-(\d{5})\.gguf$/
/** Of a folder, more files are no model but a mistake, such as somebody's home. */
const mostFiles = 1_000

/** Puts a GGUF file of this machine, with its other parts, or the files of a folder into a model's folder. */
export async function placeModel(path: string, data: string, name: string): Promise<void> {
  const files = await filesOf(path)
  const folder = modelDirectory(data, name)
  await mkdir(folder, { recursive: true })
  for (const file of files) await placeFile(file, join(folder, basename(file)))
}

/** What a model of this file or folder is called unless somebody says otherwise. */
export function nameOfPath(path: string): string {
  const stem = shardForm.exec(basename(path))?.[1] ?? basename(path).replace(/\.gguf$/i, '')
  const name = stem.toLowerCase().replaceAll(/[^a-z0-9.-]+/g, '-')
  return name.slice(0, 63).replaceAll(/^[.-]+|[.-]+$/g, '') || 'model'
}

async function filesOf(path: string): Promise<string[]> {
  const facts = await stat(path).catch((error: unknown) => {
    throw refused(path, errorMessage(error))
  })
  if (!facts.isDirectory()) {
    await checkMagic(path)
    const [, stem, count] = shardForm.exec(basename(path)) ?? []
    if (stem === undefined || count === undefined) return [path]
    const parts = Array.from({ length: Number(count) }, (_, part) => String(part + 1).padStart(5, '0'))
    return parts.map((part) => join(dirname(path), `${stem}-${part}-of-${count}.gguf`))
  }
  const entries = await readdir(path, { withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(path, entry.name))
  if (files.length === 0 || files.length > mostFiles) throw refused(path, `it has ${files.length} files.`)
  return files
}

async function checkMagic(path: string): Promise<void> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0)
    if (bytesRead < 4 || buffer.toString('latin1') !== 'GGUF') throw refused(path, 'it is no GGUF file.')
  } finally {
    await file.close()
  }
}

/** Within a file system nothing is copied: a model may be as large as the disk. */
async function placeFile(from: string, to: string): Promise<void> {
  await rm(to, { force: true })
  try {
    await link(from, to)
  } catch {
    await copyFile(from, to, constants.COPYFILE_FICLONE).catch((error: unknown) => {
      throw refused(from, errorMessage(error))
    })
  }
}

function refused(path: string, reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag: path, reason })
}
