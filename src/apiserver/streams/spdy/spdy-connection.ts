import type { Duplex } from 'node:stream'
import type { CancelTimer, Clock } from '../../../foundation/clock.ts'
import { FedStream } from '../fed-stream.ts'
import { type SpdyFrame, SpdyFrameReader, SpdyViolation, encodeSpdyFrame, resetStatus } from './spdy-frames.ts'
import { HeaderReader, HeaderWriter, type SpdyHeaders } from './spdy-headers.ts'

export interface SpdyConnectionOptions {
  readonly clock: Clock
  /** Called for each stream the client opens. `false` refuses it. */
  readonly accept: (stream: FedStream, headers: SpdyHeaders, id: number) => boolean
  /** Called whenever anything but keep-alive traffic flows. */
  readonly touch: () => void
}

const mostStreams = 1_000
/** See `pingEveryMs` of WebSocketConnection. */
const pingEveryMs = 10_000
const lingerMs = 2_000
const mostUnsent = 8 * 2 ** 20
const noHeaders: SpdyHeaders = new Map()

/**
 * The server's side of SPDY/3.1, over a socket or a tunnel, as far as Kubernetes uses it. Its clients do not take part
 * in flow control, so none is applied: a stream that nobody reads stops the whole connection, as it does with
 * Kubernetes.
 */
export class SpdyConnection {
  readonly #transport: Duplex
  readonly #options: SpdyConnectionOptions
  readonly #frames = new SpdyFrameReader()
  readonly #reader = new HeaderReader()
  readonly #writer = new HeaderWriter()
  readonly #streams = new Map<number, FedStream>()
  readonly #left = new AbortController()
  #newest = 0
  #goneAway = false
  #pingId = 2
  #cancelPing: CancelTimer = () => {}

  constructor(transport: Duplex, options: SpdyConnectionOptions) {
    this.#transport = transport
    this.#options = options
    transport.on('error', () => {})
    transport.once('close', () => this.#over())
    this.#ping()
  }

  /** Aborted when the client has left. */
  get left(): AbortSignal {
    return this.#left.signal
  }

  /** Reads until the client leaves; resolves when the connection is gone. */
  async receive(): Promise<void> {
    try {
      for await (const chunk of this.#transport.iterator({ destroyOnReturn: false })) {
        if (!Buffer.isBuffer(chunk)) continue
        for (const frame of this.#frames.read(chunk)) {
          await this.#handle(frame)
          // A client that demands replies and does not read them is not read from either.
          if (this.#transport.writableLength > mostUnsent) await this.#drained()
        }
      }
    } catch (error) {
      // Any other error means that the connection itself broke.
      if (error instanceof SpdyViolation) this.#goAway(1)
    } finally {
      this.#over()
      this.#reader.close()
      await this.#linger()
    }
  }

  /** Refuses new streams and says so. */
  close(): void {
    this.#goAway(0)
  }

  destroy(): void {
    this.#transport.destroy()
  }

  async #handle(frame: SpdyFrame): Promise<void> {
    switch (frame.type) {
      case 'open':
        return this.#open(frame)
      case 'data': {
        this.#options.touch()
        const stream = this.#streams.get(frame.stream)
        if (!stream) return this.#refuseUnknown(frame.stream)
        await stream.feed(frame.data)
        if (frame.last) stream.feedEnd()
        return
      }
      case 'headers':
      case 'reply':
        // These headers are of no use here, but they are part of the compressed stream of all headers.
        await this.#reader.read(frame.headers)
        if (frame.last) this.#streams.get(frame.stream)?.feedEnd()
        return
      case 'reset':
        this.#remove(frame.stream)?.destroy()
        return
      case 'ping':
        // Even IDs are replies to our own pings.
        if (frame.id % 2 === 1) this.#send(frame)
        return
      case 'goAway':
      case 'settings':
      case 'windowUpdate':
        return
    }
  }

  async #open({ stream: id, last, oneWay, headers: block }: SpdyFrame & { type: 'open' }): Promise<void> {
    const headers = await this.#reader.read(block)
    if (id % 2 === 0 || id <= this.#newest) throw new SpdyViolation(`the stream ${id} cannot be opened`)
    this.#newest = id
    if (this.#goneAway || oneWay || this.#streams.size >= mostStreams) {
      return this.#send({ type: 'reset', stream: id, status: resetStatus.refused })
    }
    this.#options.touch()
    const stream = new FedStream({
      write: (data, done) => {
        this.#options.touch()
        this.#send({ type: 'data', stream: id, last: false, data }, done)
      },
      end: (done) => this.#send({ type: 'data', stream: id, last: true, data: Buffer.alloc(0) }, done),
      close: (broken) => {
        if (this.#remove(id) && broken) this.#send({ type: 'reset', stream: id, status: resetStatus.cancel })
      },
    })
    this.#streams.set(id, stream)
    this.#send({ type: 'reply', stream: id, last: false, headers: this.#writer.write(noHeaders) })
    if (!this.#options.accept(stream, headers, id)) return void stream.destroy()
    if (last) stream.feedEnd()
  }

  #refuseUnknown(id: number): void {
    // Data that was on its way when a stream ended is nobody's mistake.
    if (id > this.#newest) this.#send({ type: 'reset', stream: id, status: resetStatus.invalidStream })
  }

  #remove(id: number): FedStream | undefined {
    const stream = this.#streams.get(id)
    this.#streams.delete(id)
    return stream
  }

  #send(frame: SpdyFrame, sent: (error?: Error | null) => void = () => {}): void {
    const transport = this.#transport
    if (transport.destroyed || transport.writableEnded) return sent(new Error('the connection is closed'))
    transport.write(encodeSpdyFrame(frame), sent)
  }

  #goAway(status: number): void {
    if (this.#goneAway) return
    this.#goneAway = true
    this.#send({ type: 'goAway', lastStream: this.#newest, status })
  }

  #drained(): Promise<void> {
    const transport = this.#transport
    return new Promise((resolve) => {
      const settle = () => {
        transport.off('drain', settle)
        transport.off('close', settle)
        resolve()
      }
      transport.once('drain', settle)
      transport.once('close', settle)
    })
  }

  #ping(): void {
    this.#cancelPing = this.#options.clock.after(pingEveryMs, () => {
      if (!this.#transport.writableNeedDrain) this.#send({ type: 'ping', id: this.#pingId })
      this.#pingId = this.#pingId >= 0x7fff_fffe ? 2 : this.#pingId + 2
      this.#ping()
    })
  }

  #over(): void {
    this.#cancelPing()
    for (const stream of this.#streams.values()) stream.destroy()
    this.#left.abort()
  }

  async #linger(): Promise<void> {
    const transport = this.#transport
    if (transport.destroyed) return
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(lingerMs, () => transport.destroy())
      transport.once('close', () => {
        cancel()
        resolve()
      })
      transport.end()
      transport.resume()
    })
  }
}
