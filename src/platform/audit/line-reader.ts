import type { FileHandle } from 'node:fs/promises'

const chunkBytes = 64 * 1024
/** Sluice writes no longer lines. */
const longestLine = 1024 * 1024
const newline = 0x0a

/** Reads lines from a file that may still be written to. */
export class LineReader {
  readonly inode: bigint
  readonly #handle: FileHandle
  readonly #chunk = Buffer.allocUnsafe(chunkBytes)
  #at = 0
  #rest: Buffer = Buffer.alloc(0)

  constructor(handle: FileHandle, inode: bigint) {
    this.#handle = handle
    this.inode = inode
  }

  /** The complete lines since the last call. An incomplete one is kept until its rest is there. */
  async *lines(): AsyncGenerator<string> {
    for (;;) {
      const { bytesRead } = await this.#handle.read(this.#chunk, 0, chunkBytes, this.#at)
      if (bytesRead === 0) return
      this.#at += bytesRead
      let bytes = Buffer.concat([this.#rest, this.#chunk.subarray(0, bytesRead)])
      for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline)) {
        yield bytes.toString('utf8', 0, end)
        bytes = bytes.subarray(end + 1)
      }
      this.#rest = bytes.length > longestLine ? Buffer.alloc(0) : bytes
    }
  }

  close(): Promise<void> {
    return this.#handle.close()
  }
}
