import { Duplex } from 'node:stream'

/** Where what is written to the stream goes. */
export interface StreamTarget {
  write(chunk: Buffer, done: (error?: Error | null) => void): void
  /** Nothing more will be written. */
  end?(done: (error?: Error | null) => void): void
  /** The stream is over in both directions; `broken` when it ended too early. */
  close?(broken: boolean): void
}

const readAheadBytes = 256 * 2 ** 10

/**
 * One of several streams that share a connection: the connection's reader feeds it, and waits when the consumer is
 * slow.
 */
export class FedStream extends Duplex {
  readonly #target: StreamTarget | undefined
  #room = Promise.withResolvers<void>()
  #ended = false

  /** Without a target it is read-only. */
  constructor(target?: StreamTarget) {
    super({ readableHighWaterMark: readAheadBytes })
    this.#target = target
    if (!target) this.end()
    // Readers learn of a broken connection by the end of the stream; nobody handles the error event.
    this.on('error', () => {})
  }

  /** Resolves when there is room for more, or when nobody reads any longer. */
  async feed(chunk: Buffer): Promise<void> {
    if (this.#ended || this.destroyed || chunk.length === 0) return
    this.#room = Promise.withResolvers<void>()
    if (!this.push(chunk)) await this.#room.promise
  }

  /** The other side will send nothing more. */
  feedEnd(): void {
    if (this.#ended || this.destroyed) return
    this.#ended = true
    this.push(null)
  }

  override _read(): void {
    this.#room.resolve()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#target) this.#target.write(chunk, done)
    else done()
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#target?.end) this.#target.end(done)
    else done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#room.resolve()
    this.#target?.close?.(!this.#ended || !this.writableFinished)
    done(error)
  }
}
