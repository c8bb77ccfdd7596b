import { mkdirSync } from 'node:fs'
import { type FileHandle, open, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type WeightsFile, type WeightsManifest, versionOf } from './weights-manifest.ts'
import type { WeightsSteps } from './weights-steps.ts'

/** The files in the claim are not those any more that the copy was begun with. */
export class WeightsChanged extends Error {
  override readonly name = 'WeightsChanged'
}

export interface CopyOptions extends WeightsSteps {
  readonly signal: AbortSignal
  readonly onCopied: (bytes: number) => void
}

const pieceBytes = 8 * 1024 * 1024
/** Shared storage is faster with several files at a time. */
const filesAtOnce = 4

/**
 * Copies the files into a folder, and onto the disk. A file has the time of its original only when all of it is there,
 * so a copy that was interrupted goes on with the first file that has not.
 */
export async function copyWeights(manifest: WeightsManifest, target: string, options: CopyOptions): Promise<void> {
  const next = manifest.files.values()
  const worker = async () => {
    for (const file of next) await copyFile(manifest.folder, target, file, options)
  }
  const workers = Array.from({ length: filesAtOnce }, worker)
  // All have to be over before anybody else touches the folder.
  const results = await Promise.allSettled(workers)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

async function copyFile(folder: string, target: string, file: WeightsFile, options: CopyOptions): Promise<void> {
  const path = join(target, file.name)
  options.signal.throwIfAborted()
  if (await isWhole(path, file)) return options.onCopied(file.size)
  mkdirSync(dirname(path), { recursive: true })
  const source = await open(join(folder, file.name), 'r')
  try {
    await expectVersion(source, file)
    const copy = await open(path, 'w', 0o644)
    try {
      options.step?.('file opened')
      await copyBytes(source, copy, file, options)
      options.step?.('file written')
      await copy.sync()
      options.step?.('file on disk')
    } finally {
      await copy.close()
    }
    await expectVersion(source, file)
    await utimes(path, new Date(file.changedMs), new Date(file.changedMs))
    options.step?.('file dated')
  } finally {
    await source.close()
  }
}

/** Whether the copy of a file is complete. */
export async function isWhole(path: string, { size, changedMs }: WeightsFile): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) return false
  const version = versionOf(found)
  return version.size === size && version.changedMs === changedMs
}

async function copyBytes(
  source: FileHandle,
  copy: FileHandle,
  { name, size }: WeightsFile,
  { signal, onCopied, step }: CopyOptions,
): Promise<void> {
  const piece = Buffer.allocUnsafe(Math.min(pieceBytes, Math.max(1, size)))
  for (let position = 0; position < size;) {
    signal.throwIfAborted()
    const { bytesRead } = await source.read(piece, 0, piece.length, position)
    if (bytesRead === 0) throw new WeightsChanged(`${name} has become shorter`)
    for (let written = 0; written < bytesRead;) {
      const { bytesWritten } = await copy.write(piece, written, bytesRead - written, position + written)
      written += bytesWritten
    }
    position += bytesRead
    onCopied(bytesRead)
    step?.('piece written')
  }
}

async function expectVersion(source: FileHandle, file: WeightsFile): Promise<void> {
  const { size, changedMs } = versionOf(await source.stat())
  if (size !== file.size || changedMs !== file.changedMs) throw new WeightsChanged(`${file.name} has changed`)
}
