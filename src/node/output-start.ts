import { Writable } from 'node:stream'

const mostBytes = 1024

/** Keeps the beginning of what is written to it, and takes the rest without keeping it. */
export class OutputStart extends Writable {
  #text = ''

  get text(): string {
    return this.#text.trim()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#text.length < mostBytes) this.#text = (this.#text + chunk.toString()).slice(0, mostBytes)
    done()
  }
}
