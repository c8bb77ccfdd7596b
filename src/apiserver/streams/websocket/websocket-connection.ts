import type { Duplex } from 'node:stream'
import type { CancelTimer, Clock } from '../../../foundation/clock.ts'
import {
  type Frame,
  FrameReader,
  type Opcode,
  WebSocketViolation,
  closePayload,
  encodeFrame,
  opcodes,
  readClose,
} from './websocket-frames.ts'
import { type Message, MessageAssembler } from './websocket-messages.ts'

/** Clients write in pieces of 32 or 64 KiB; whatever sends far more is not one of them. */
const largestMessage = 4 * 2 ** 20
/**
 * How often the client is pinged. The answer does not matter, but the attempt does: while nothing is read because a
 * program takes no input, only a failed write shows that the client has left.
 */
const pingEveryMs = 10_000
/** How long a closed connection waits for the other side to close it, too. */
const lingerMs = 2_000

/**
 * The server's side of a WebSocket after its handshake. Messages are passed on one at a time, so that a slow consumer
 * slows the client down.
 */
export class WebSocketConnection {
  readonly #socket: Duplex
  readonly #clock: Clock
  readonly #frames = new FrameReader(largestMessage)
  readonly #messages = new MessageAssembler(largestMessage)
  readonly #left = new AbortController()
  #closeSent = false
  #pong: Buffer | undefined
  #cancelPing: CancelTimer = () => {}

  constructor(socket: Duplex, clock: Clock) {
    this.#socket = socket
    this.#clock = clock
    socket.on('error', () => {})
    socket.once('close', () => this.#over())
    socket.on('drain', () => this.#sendPong())
    this.#ping()
  }

  /** Aborted when the client has closed the connection, or it broke. */
  get left(): AbortSignal {
    return this.#left.signal
  }

  /** Reads until the client closes; resolves when the connection is gone. Messages after our own close are dropped. */
  async receive(take: (message: Message) => void | Promise<void>): Promise<void> {
    try {
      for await (const chunk of this.#socket.iterator({ destroyOnReturn: false })) {
        if (!Buffer.isBuffer(chunk)) continue
        for (const frame of this.#frames.read(chunk)) {
          if (frame.opcode === opcodes.close) return this.#closed(frame)
          const message = this.#received(frame)
          if (message && !this.#closeSent) await take(message)
        }
      }
    } catch (error) {
      // Any other error means that the connection itself broke.
      if (error instanceof WebSocketViolation) this.close(error.code, error.message)
    } finally {
      this.#over()
      await this.#linger()
    }
  }

  /** Calls back when the operating system has taken it. */
  send(opcode: Opcode, payload: Buffer, sent: (error?: Error | null) => void = () => {}): void {
    if (this.#closeSent || this.#socket.writableEnded || this.#socket.destroyed) {
      return sent(new Error('the connection is closed'))
    }
    this.#socket.write(encodeFrame(opcode, payload), sent)
  }

  /** Says that nothing more follows; the client answers by closing. */
  close(code: number, reason = ''): void {
    if (this.#closeSent) return
    this.send(opcodes.close, closePayload(code, reason))
    this.#closeSent = true
    this.#cancelPing()
  }

  /** Closes, without waiting long for the client to close, too. */
  hangUp(code: number, reason: string): void {
    this.close(code, reason)
    const cancel = this.#clock.after(lingerMs, () => this.#socket.destroy())
    this.#socket.once('close', cancel)
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #received(frame: Frame): Message | undefined {
    if (frame.opcode === opcodes.ping) {
      this.#pong = frame.payload
      // Only the newest pong waits to be sent, so that a client that only pings fills no buffer.
      if (!this.#socket.writableNeedDrain) this.#sendPong()
      return undefined
    }
    return frame.opcode === opcodes.pong ? undefined : this.#messages.add(frame)
  }

  #closed(frame: Frame): void {
    const { code } = readClose(frame.payload)
    this.close(code === 1005 ? 1000 : code)
  }

  #sendPong(): void {
    const payload = this.#pong
    this.#pong = undefined
    if (payload) this.send(opcodes.pong, payload)
  }

  #ping(): void {
    this.#cancelPing = this.#clock.after(pingEveryMs, () => {
      if (!this.#socket.writableNeedDrain) this.send(opcodes.ping, Buffer.alloc(0))
      this.#ping()
    })
  }

  #over(): void {
    this.#cancelPing()
    this.#left.abort()
  }

  /** The close frame must arrive: dropping a connection with unread bytes would discard what was sent. */
  async #linger(): Promise<void> {
    const socket = this.#socket
    if (socket.destroyed) return
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(lingerMs, () => socket.destroy())
      socket.once('close', () => {
        cancel()
        resolve()
      })
      // It closes by itself when both sides are done.
      socket.end()
      socket.resume()
    })
  }
}
