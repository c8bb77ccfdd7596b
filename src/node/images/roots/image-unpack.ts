import { chmodSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { pathOf } from '../tar/archive-fault.ts'
import { StreamSource } from '../tar/byte-source.ts'
import { digestText, verified } from '../archives/digest.ts'
import type { ImageDescription, LayerDescription } from '../archives/image-description.ts'
import type { ImageSource } from '../archives/image-source.ts'
import { unpacked } from '../tar/layer-stream.ts'
import { type LayerNotes, unpackLayer } from './layer-unpack.ts'
import { RootFiles } from './root-files.ts'
import { readTar } from '../tar/tar-reader.ts'
import { UnpackBudget, type UnpackLimits } from '../tar/unpack-budget.ts'

export interface UnpackOptions {
  readonly limits: UnpackLimits
  readonly signal: AbortSignal
  /** Called before each layer is looked at and before it is applied. */
  readonly onStep?: ((step: string) => void) | undefined
  readonly asRoot?: boolean
}

export interface UnpackedImage extends LayerNotes {
  readonly bytes: number
  /** Entries that could not be given their owners and belong to the importing user instead. */
  readonly otherOwners: number
}

/**
 * Unpacks an image's layers into `<folder>/rootfs`. Each layer is verified completely before its first file is written.
 */
export async function unpackImage(
  source: ImageSource,
  image: ImageDescription,
  folder: string,
  { limits, signal, onStep, asRoot = process.getuid?.() === 0 }: UnpackOptions,
): Promise<UnpackedImage> {
  mkdirSync(folder, { mode: 0o700 })
  const rootfs = join(realpathSync.native(folder), 'rootfs')
  mkdirSync(rootfs)
  chmodSync(rootfs, 0o755)
  const notes: LayerNotes = { devices: 0, fifos: 0, capabilities: 0 }
  const files = new RootFiles(asRoot)
  const budget = new UnpackBudget(limits)
  for (const layer of image.layers) {
    onStep?.('verify layer')
    await drain(verifiedLayer(source, layer, new UnpackBudget(limits), signal))
    onStep?.('unpack layer')
    const plain = verifiedLayer(source, layer, budget, signal)
    const target = { root: pathOf(rootfs), files, budget, notes, signal }
    await unpackLayer(readTar(new StreamSource(plain)), target)
    // The digest also covers bytes after the archive's end.
    await drain(plain)
  }
  return { ...notes, bytes: budget.bytes, otherOwners: files.otherOwners }
}

/** The decompressed bytes of a layer. Throws at the end if one of its two digests is wrong. */
function verifiedLayer(
  source: ImageSource,
  { path, digest, diffId }: LayerDescription,
  budget: UnpackBudget,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  const packed = source.pieces(path)
  const checked = digest ? verified(packed, digest, `the layer ${path}`) : packed
  return verified(unpacked(checked, budget, signal), diffId, `what is in the layer ${digestText(digest ?? diffId)}`)
}

async function drain(pieces: AsyncIterable<Buffer>): Promise<void> {
  for await (const piece of pieces) void piece
}
