import type { TurnClock } from './turn-clock.ts'

/** Who gets what was read. */
export interface ChunkReader {
  take(chunk: Buffer): void
}

/** When this much has been read it is handled, whatever else there may be to read. */
const mostChunks = 64
const mostBytes = 1_048_576

const noBytes = Buffer.alloc(0)

/** Of one kind, in the order they came. */
class ReadChunks {
  #readers: ChunkReader[] = []
  #chunks: Buffer[] = []

  get count(): number {
    return this.#readers.length
  }

  add(reader: ChunkReader, chunk: Buffer): void {
    this.#readers.push(reader)
    this.#chunks.push(chunk)
  }

  /** When a reader fails, those behind it keep their turn. */
  handOut(): void {
    const readers = this.#readers
    const chunks = this.#chunks
    this.#readers = []
    this.#chunks = []
    let at = 0
    try {
      for (; at < readers.length; at++) readers[at]?.take(chunks[at] ?? noBytes)
    } finally {
      if (at < readers.length) {
        this.#readers = readers.slice(at + 1)
        this.#chunks = chunks.slice(at + 1)
      }
    }
  }
}

/**
 * What connections have received in one turn of the event loop, handled together when all of them were read. One after
 * the other, each with its call of the system in between, would push what handles them out of the processor's caches
 * every time; that takes longer than the handling itself. For the same reason answers and requests are not mixed:
 * answers come first, and give back the connections that requests take then.
 */
export class ReadBatch {
  readonly #clock: TurnClock
  readonly #answers = new ReadChunks()
  readonly #requests = new ReadChunks()
  #bytes = 0
  #awaitsTurnsEnd = false

  constructor(clock: TurnClock) {
    this.#clock = clock
  }

  add(kind: 'answers' | 'requests', reader: ChunkReader, chunk: Buffer): void {
    if (kind === 'answers') this.#answers.add(reader, chunk)
    else this.#requests.add(reader, chunk)
    this.#bytes += chunk.length
    this.#awaitTurnsEnd()
    if (this.#count >= mostChunks || this.#bytes >= mostBytes) this.handle()
  }

  /** Whoever hears of something else about a connection has heard before what it received. */
  handle(): void {
    if (this.#count > 0) this.#clock.during(handOut, this)
  }

  /** For what comes through a stream of Node's, piece by piece. */
  handleAlone(handle: (chunk: Buffer) => void, chunk: Buffer): void {
    this.#clock.during(handle, chunk)
  }

  handOut(): void {
    this.#bytes = 0
    try {
      this.#answers.handOut()
      this.#requests.handOut()
    } finally {
      if (this.#count > 0) this.#awaitTurnsEnd()
    }
  }

  get #count(): number {
    return this.#answers.count + this.#requests.count
  }

  #awaitTurnsEnd(): void {
    if (this.#awaitsTurnsEnd) return
    this.#awaitsTurnsEnd = true
    setImmediate(this.#onTurnsEnd)
  }

  readonly #onTurnsEnd = (): void => {
    this.#awaitsTurnsEnd = false
    this.handle()
  }
}

function handOut(batch: ReadBatch): void {
  batch.handOut()
}
