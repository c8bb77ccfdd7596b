import { atOneTime } from '../foundation/clock.ts'

/** Who gets what was read. */
export interface ChunkReader {
  take(chunk: Buffer): void
}

/** When this much has been read it is handled, whatever else there may be to read. */
const mostChunks = 64
const mostBytes = 1_048_576

/**
 * What connections have received in one turn of the event loop, handled together when all of them were read. One after the
 * other, each with its call of the system in between, would push what handles them out of the processor's caches every time; that
 * takes longer than the handling itself.
 */
class ReadBatch {
  #readers: ChunkReader[] = []
  #chunks: Buffer[] = []
  #bytes = 0

  add(reader: ChunkReader, chunk: Buffer): void {
    if (this.#readers.push(reader) === 1) setImmediate(this.#atTurnsEnd)
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#readers.length >= mostChunks || this.#bytes >= mostBytes) this.handle()
  }

  /** Whoever hears of something else about a connection has heard before what it received. */
  handle(): void {
    if (this.#readers.length > 0) atOneTime(handleEach, this)
  }

  readonly #atTurnsEnd = (): void => this.handle()

  handleEach(): void {
    const readers = this.#readers
    const chunks = this.#chunks
    let done = 0
    this.#readers = []
    this.#chunks = []
    this.#bytes = 0
    try {
      for (; done < readers.length; done++) readers[done]?.take(chunks[done] ?? noBytes)
    } finally {
      // One that fails does not take the others along.
      for (let left = done + 1; left < readers.length; left++) {
        this.add(readers[left] ?? nobody, chunks[left] ?? noBytes)
      }
    }
  }
}

const noBytes = Buffer.alloc(0)
const nobody: ChunkReader = { take: () => {} }

function handleEach(batch: ReadBatch): void {
  batch.handleEach()
}

export const readBatch = new ReadBatch()
