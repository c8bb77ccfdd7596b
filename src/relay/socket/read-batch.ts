import type { TurnClock } from './turn-clock.ts'

/** Receives what was read. */
export interface ChunkReader {
  take(chunk: Buffer): void
}

/** After this many bytes, what was read is handled before more is read. */
const mostChunks = 64
const mostBytes = 1_048_576

const noBytes = Buffer.alloc(0)

/** What was read of one kind, in order. */
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

  /** If one reader throws, the others still get theirs. */
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

/** Calls back when what has arrived by now was read, which takes a turn of the loop, and handled, which ends it. */
export function afterReading(done: () => void): void {
  setImmediate(() => setImmediate(done))
}

/**
 * Handles what all connections received in one turn of the event loop together, once all of them were read. Switching
 * between system calls and handling would evict the handling code from the processor's caches each time, which costs
 * more than the handling. For the same reason answers and requests are not mixed: answers come first, and free the
 * connections that the requests then use.
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

  /** To be called before any other event of a connection is handled, so that what it received is handled first. */
  handle(): void {
    if (this.#count > 0) this.#clock.during(handOut, this)
  }

  /** For input that comes through a Node stream. */
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
