import { ArchiveFault } from './archive-fault.ts'
import { type ByteSource, StreamSource } from './byte-source.ts'

const frameMagic = 0xfd2fb528
/** The first of sixteen magic numbers of skippable frames. */
const skippableMagic = 0x184d2a50
const dictionaryBytes = [0, 1, 2, 4]
const sizeBytes = [0, 2, 4, 8]

/**
 * Splits zstd data into its frames, each given as pieces. Node decompresses only the first frame without a word about
 * the rest, and some layers have a frame per file.
 */
export async function* zstdFrames(
  packed: AsyncIterable<Buffer>,
): AsyncGenerator<AsyncGenerator<Buffer, void, undefined>, void, undefined> {
  const source = new StreamSource(packed)
  for (let mark = await source.take(4); mark; mark = await source.take(4)) {
    const magic = mark.readUInt32LE(0)
    if (magic >>> 4 === skippableMagic >>> 4) {
      await source.skip((await required(source, 4)).readUInt32LE(0))
      continue
    }
    if (magic !== frameMagic) throw new ArchiveFault('a layer cannot be unpacked: it is not zstd all the way')
    const frame = frameFrom(source, mark)
    yield frame
    // The decompressor may have stopped before the end of the frame.
    for await (const piece of frame) void piece
  }
}

/** The header, all blocks and the checksum of a frame; the content of blocks is not looked at. */
async function* frameFrom(source: ByteSource, mark: Buffer): AsyncGenerator<Buffer, void, undefined> {
  const descriptor = await required(source, 1)
  const flags = descriptor[0] ?? 0
  const isSingle = (flags & 0x20) !== 0
  const sizeFlag = flags >>> 6
  const size = sizeFlag === 0 && isSingle ? 1 : (sizeBytes[sizeFlag] ?? 0)
  const rest = (isSingle ? 0 : 1) + (dictionaryBytes[flags & 3] ?? 0) + size
  yield Buffer.concat([mark, descriptor, await required(source, rest)])
  for (let isLast = false; !isLast;) {
    const head = await required(source, 3)
    const block = head.readUIntLE(0, 3)
    isLast = (block & 1) === 1
    const type = (block >>> 1) & 3
    // A block of repeated bytes stores only one.
    const length = type === 1 ? 1 : block >>> 3
    if (type === 3) throw new ArchiveFault('a layer cannot be unpacked: it has a zstd block of no known type')
    yield Buffer.concat([head, await required(source, length)])
  }
  if ((flags & 4) !== 0) yield await required(source, 4)
}

async function required(source: ByteSource, count: number): Promise<Buffer> {
  if (count === 0) return Buffer.alloc(0)
  const bytes = await source.take(count)
  if (!bytes) throw new ArchiveFault('a layer cannot be unpacked: it ends too early')
  return bytes
}
