import { type Stats } from 'node:fs'
import { mkdir, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { chooseModelFile } from '../../engine/models/model-file.ts'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import { modelDirectory } from '../../platform/models/model-storage.ts'
import { ProgressBar } from '../output/progress-bar.ts'
import { placeFile } from './place-file.ts'

const shardForm = /^(.*)-\d{5}-of-(\d{5})\.gguf$/
/** Of a folder, more files are no model but a mistake, such as somebody's home. */
const mostFiles = 1_000

export interface PlaceModelOptions {
  readonly path: string
  readonly data: string
  readonly name: string
  /** The engine takes one GGUF model, whole or in parts, and nothing else. */
  readonly needsGguf: boolean
  readonly signal: AbortSignal
}

interface Found {
  readonly path: string
  readonly bytes: number
}

/** Puts a GGUF file of this machine, with its other parts, or the files of a folder into a model's folder. */
export async function placeModel({ path, data, name, needsGguf, signal }: PlaceModelOptions): Promise<void> {
  const files = await filesOf(path, needsGguf)
  const folder = modelDirectory(data, name)
  await mkdir(folder, { recursive: true })
  const all = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const bar = new ProgressBar(process.stderr, name)
  let copied = 0
  const onCopied = (bytes: number) => bar.show((copied += bytes), all)
  try {
    for (const file of files) {
      await placeFile(file.path, join(folder, basename(file.path)), { signal, onCopied }).catch((error: unknown) => {
        throw signal.aborted ? error : refused(file.path, errorMessage(error))
      })
    }
  } finally {
    bar.finish()
  }
}

/** What a model of this file or folder is called unless somebody says otherwise. */
export function nameOfPath(path: string): string {
  const stem = shardForm.exec(basename(path))?.[1] ?? basename(path).replace(/\.gguf$/i, '')
  const name = stem.toLowerCase().replaceAll(/[^a-z0-9.-]+/g, '-')
  return name.slice(0, 63).replaceAll(/^[.-]+|[.-]+$/g, '') || 'model'
}

async function filesOf(path: string, needsGguf: boolean): Promise<Found[]> {
  const facts = await factsOf(path)
  if (facts.isDirectory()) return filesIn(path, needsGguf)
  await checkMagic(path)
  const [, stem, count] = shardForm.exec(basename(path)) ?? []
  if (stem === undefined || count === undefined) return [{ path, bytes: facts.size }]
  const parts = Array.from({ length: Number(count) }, (_, part) => String(part + 1).padStart(5, '0'))
  const paths = parts.map((part) => join(dirname(path), `${stem}-${part}-of-${count}.gguf`))
  return Promise.all(paths.map(async (part) => ({ path: part, bytes: (await factsOf(part)).size })))
}

async function filesIn(folder: string, needsGguf: boolean): Promise<Found[]> {
  const names = await readdir(folder)
  const [model, ...others] = chooseModelFile(names)
  if (needsGguf && model === undefined) {
    const reason = `it has no .gguf file in it. A folder of another kind is for another engine: \`sluice model add ${folder} --engine VLLM\`.`
    throw refused(folder, reason)
  }
  if (needsGguf && others.length > 0) {
    const reason = `it has several models (${chooseModelFile(names).slice(0, 5).join(', ')}). Name one, such as ${join(folder, model ?? '')}.`
    throw refused(folder, reason)
  }
  if (needsGguf && model !== undefined) await checkMagic(join(folder, model))
  if (names.length > mostFiles) throw refused(folder, `it has ${names.length} files.`)
  const all = await Promise.all(
    names.map(async (name) => ({ path: join(folder, name), facts: await factsOf(join(folder, name)) })),
  )
  const files = all.filter(({ facts }) => facts.isFile()).map(({ path, facts }) => ({ path, bytes: facts.size }))
  if (files.length === 0) throw refused(folder, 'it has no files.')
  return files
}

async function factsOf(path: string): Promise<Stats> {
  return stat(path).catch((error: unknown) => {
    const message = errorMessage(error)
    throw refused(path, message.startsWith('ENOENT') ? 'there is no such file.' : message)
  })
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

function refused(path: string, reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag: path, reason })
}
