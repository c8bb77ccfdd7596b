import type { FileHandle } from 'node:fs/promises'
import { ArchiveFault } from './archive-fault.ts'

/** A sequence of bytes, read from front to back. */
export interface ByteSource {
  /** How many bytes were read or skipped so far. */
  readonly position: number
  /** Exactly `count` bytes; `undefined` at the end. Throws if it ends in between. */
  take(count: number): Promise<Buffer | undefined>
  /** The next bytes, at most `most`; `undefined` at the end. */
  some(most: number): Promise<Buffer | undefined>
  skip(count: number): Promise<void>
}

const pieceBytes = 256 * 1024
const cutShort = 'the archive ends in the middle of an entry'

abstract class BufferedSource implements ByteSource {
  #held: Buffer = Buffer.alloc(0)
  #position = 0

  /** The next piece, never empty; `undefined` at the end. */
  protected abstract next(): Promise<Buffer | undefined>

  get position(): number {
    return this.#position
  }

  protected get heldBytes(): number {
    return this.#held.length
  }

  async take(count: number): Promise<Buffer | undefined> {
    while (this.#held.length < count) {
      const more = await this.next()
      if (!more) {
        if (this.#held.length === 0) return undefined
        throw new ArchiveFault(cutShort)
      }
      this.#held = this.#held.length === 0 ? more : Buffer.concat([this.#held, more])
    }
    return this.drop(count)
  }

  async some(most: number): Promise<Buffer | undefined> {
    if (this.#held.length === 0) {
      const more = await this.next()
      if (!more) return undefined
      this.#held = more
    }
    return this.drop(Math.min(most, this.#held.length))
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0;) {
      const piece = await this.some(left)
      if (!piece) throw new ArchiveFault(cutShort)
      left -= piece.length
    }
  }

  protected drop(count: number): Buffer {
    const taken = this.#held.subarray(0, count)
    this.#held = this.#held.subarray(count)
    this.#position += count
    return taken
  }

  protected moveOn(count: number): void {
    this.#position += count
  }
}

/** Bytes of a stream, such as a decompressed layer. */
export class StreamSource extends BufferedSource {
  readonly #pieces: AsyncIterator<Buffer>

  constructor(pieces: AsyncIterable<Buffer>) {
    super()
    this.#pieces = pieces[Symbol.asyncIterator]()
  }

  protected override async next(): Promise<Buffer | undefined> {
    for (;;) {
      const step = await this.#pieces.next()
      if (step.done === true) return undefined
      if (step.value.length > 0) return step.value
    }
  }
}

/** Bytes of a file. What is skipped is not read. */
export class FileSource extends BufferedSource {
  readonly #file: FileHandle
  readonly #size: number
  #readAt = 0

  constructor(file: FileHandle, size: number) {
    super()
    this.#file = file
    this.#size = size
  }

  override async skip(count: number): Promise<void> {
    const held = Math.min(count, this.heldBytes)
    this.drop(held)
    const rest = count - held
    if (this.#readAt + rest > this.#size) throw new ArchiveFault(cutShort)
    this.#readAt += rest
    this.moveOn(rest)
  }

  protected override async next(): Promise<Buffer | undefined> {
    const piece = await readPiece(this.#file, this.#readAt, this.#size)
    this.#readAt += piece?.length ?? 0
    return piece
  }
}

/** Yields a part of a file in pieces. */
export async function* filePart(file: FileHandle, start: number, end: number): AsyncGenerator<Buffer, void, undefined> {
  for (let at = start; at < end;) {
    const piece = await readPiece(file, at, end)
    if (!piece) throw new ArchiveFault(cutShort)
    at += piece.length
    yield piece
  }
}

async function readPiece(file: FileHandle, at: number, end: number): Promise<Buffer | undefined> {
  const wanted = Math.min(pieceBytes, end - at)
  if (wanted <= 0) return undefined
  const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, at)
  return bytesRead === 0 ? undefined : buffer.subarray(0, bytesRead)
}
