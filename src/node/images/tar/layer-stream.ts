import { Readable } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { errorMessage } from '../../../foundation/errors.ts'
import { ArchiveFault } from './archive-fault.ts'
import type { UnpackBudget } from './unpack-budget.ts'
import { zstdFrames } from './zstd-frames.ts'

export type Packing = 'gzip' | 'zstd' | 'none'

/** Detects the compression by the first bytes: old archives have no media types, and some have wrong ones. */
export function packingOf(firstBytes: Buffer): Packing {
  if (firstBytes[0] === 0x1f && firstBytes[1] === 0x8b) return 'gzip'
  if (firstBytes.length >= 4 && firstBytes.readUInt32LE(0) === 0xfd2fb528) return 'zstd'
  return 'none'
}

/** Decompresses, and counts the output against the budget, so that a small archive cannot fill the disk. */
export async function* unpacked(
  pieces: AsyncIterable<Buffer>,
  budget: UnpackBudget,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  const source = pieces[Symbol.asyncIterator]()
  const first = await source.next()
  if (first.done === true) return
  const packing = packingOf(first.value)
  const whole = rejoined(first.value, source)
  const plain =
    packing === 'none'
      ? whole
      : packing === 'zstd'
        ? unpackedFrames(whole, signal)
        : decompressed(whole, packing, signal)
  for await (const piece of plain) {
    signal.throwIfAborted()
    budget.takeBytes(piece.length)
    yield piece
  }
}

async function* rejoined(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  yield first
  for (let step = await rest.next(); step.done !== true; step = await rest.next()) yield step.value
}

async function* unpackedFrames(
  pieces: AsyncIterable<Buffer>,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const frame of zstdFrames(pieces)) yield* decompressed(frame, 'zstd', signal)
}

async function* decompressed(
  pieces: AsyncIterable<Buffer>,
  packing: 'gzip' | 'zstd',
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  const options = { chunkSize: 256 * 1024 }
  const unpack = packing === 'gzip' ? createGunzip(options) : createZstdDecompress(options)
  const source = Readable.from(pieces, { objectMode: true, highWaterMark: 1, signal })
  // An earlier error, such as a wrong digest, is the one to report.
  source.on('error', (error) => unpack.destroy(error))
  source.pipe(unpack)
  try {
    for await (const piece of unpack) {
      if (Buffer.isBuffer(piece)) yield piece
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (!code.startsWith('Z_') && !code.startsWith('ZSTD_')) throw error
    throw new ArchiveFault(`a layer cannot be unpacked: ${errorMessage(error)}`, { cause: error })
  } finally {
    source.destroy()
    unpack.destroy()
  }
}
