import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Readable, addAbortSignal } from 'node:stream'
import { ArchiveFault } from '../tar/archive-fault.ts'
import { filePart } from '../tar/byte-source.ts'
import { dockerNames, readDockerArchive } from './docker-archive.ts'
import type { ImageDescription } from './image-description.ts'
import type { ImagePlatform } from './image-platform.ts'
import { ArchiveSource, FolderSource, type ImageSource } from './image-source.ts'
import { packingOf, unpacked } from '../tar/layer-stream.ts'
import { readOciLayout } from './oci-layout.ts'
import { UnpackBudget, type UnpackLimits } from '../tar/unpack-budget.ts'

/** Opens an image source: a tar archive (also compressed), standard input (`-`), or a folder with an OCI layout. */
export async function openImageSource(
  path: string,
  options: { readonly staging: string; readonly limits: UnpackLimits; readonly signal: AbortSignal },
): Promise<ImageSource> {
  const { signal } = options
  if (path === '-') return ArchiveSource.open(await spool(process.stdin, options), signal)
  const facts = await stat(path)
  if (facts.isDirectory()) return new FolderSource(path)
  // A pipe or device can be read only once, so it is copied first.
  if (!facts.isFile()) return ArchiveSource.open(await spool(createReadStream(path), options), signal)
  if ((await packingOfFile(path)) === 'none') return ArchiveSource.open(path, signal)
  return ArchiveSource.open(await spool(createReadStream(path), options), signal)
}

/**
 * Describes every image in the source that fits the wanted platform. If an archive is both an OCI layout and docker's
 * format, the layout counts.
 */
export async function readImages(
  source: ImageSource,
  wanted: ImagePlatform,
  ref: string | undefined,
): Promise<ImageDescription[]> {
  if ((await source.size('index.json')) === undefined) {
    if ((await source.size('manifest.json')) !== undefined) {
      if (ref !== undefined) throw new ArchiveFault('only images of an OCI layout can be chosen by a reference')
      return readDockerArchive(source, wanted)
    }
    throw new ArchiveFault('it has neither "index.json" nor "manifest.json": it is no image')
  }
  const images = await readOciLayout(source, wanted, ref)
  const names = await dockerNames(source)
  return images.map((image) => ({
    ...image,
    names: [...new Set([...image.names, ...(names.get(image.id.hex) ?? [])])],
  }))
}

async function packingOfFile(path: string) {
  const file = await open(path, 'r')
  try {
    for await (const piece of filePart(file, 0, Math.min(512, (await file.stat()).size))) return packingOf(piece)
    return 'none' as const
  } finally {
    await file.close()
  }
}

async function spool(
  pieces: Readable,
  {
    staging,
    limits,
    signal,
  }: { readonly staging: string; readonly limits: UnpackLimits; readonly signal: AbortSignal },
): Promise<string> {
  const path = join(staging, 'archive')
  addAbortSignal(signal, pieces)
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const piece of unpacked(buffers(pieces), new UnpackBudget(limits), signal)) await file.writeFile(piece)
  } finally {
    await file.close()
  }
  return path
}

async function* buffers(pieces: AsyncIterable<unknown>): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of pieces) if (Buffer.isBuffer(piece)) yield piece
}
