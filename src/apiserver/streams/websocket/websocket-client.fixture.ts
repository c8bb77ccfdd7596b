import type { Duplex } from 'node:stream'
import { type Opcode, closePayload, frameHead, opcodes, readClose, unmasked } from './websocket-frames.ts'

const mask = Buffer.of(7, 8, 9, 10)

export interface SeenFrame {
  readonly opcode: number
  readonly payload: Buffer
}

/** For tests: the client's side of a WebSocket, frame by frame. */
export class TestWebSocket {
  readonly frames: SeenFrame[] = []
  readonly closed: Promise<void>
  readonly #socket: Duplex
  #unread: Buffer = Buffer.alloc(0)

  constructor(socket: Duplex) {
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.resume()
    this.closed = new Promise((resolve) => {
      socket.once('close', () => resolve())
      socket.once('end', () => {
        socket.end()
        resolve()
      })
    })
  }

  send(opcode: Opcode, payload: Buffer | string, final = true): void {
    const bytes = Buffer.from(payload)
    this.#socket.write(Buffer.concat([frameHead(opcode, bytes.length, final, mask), unmasked(bytes, mask)]))
  }

  /** Sends a message on a channel, in binary form. */
  say(channel: number, text: string | Buffer): void {
    this.send(opcodes.binary, Buffer.concat([Buffer.of(channel), Buffer.from(text)]))
  }

  close(code = 1000): void {
    this.send(opcodes.close, closePayload(code, ''))
  }

  leave(): void {
    this.#socket.destroy()
  }

  /** Everything that came on a channel so far. */
  heard(channel: number): string {
    const messages = this.frames.filter(({ opcode, payload }) => opcode === opcodes.binary && payload[0] === channel)
    return Buffer.concat(messages.map(({ payload }) => payload.subarray(1))).toString()
  }

  /** The code the server closed with. */
  get closeCode(): number | undefined {
    const frame = this.frames.find(({ opcode }) => opcode === opcodes.close)
    return frame && readClose(frame.payload).code
  }

  /** The status on channel 3. */
  get status(): unknown {
    const text = this.heard(3)
    return text === '' ? undefined : JSON.parse(text)
  }

  #take(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk])
    for (;;) {
      const bytes = this.#unread
      const short = (bytes[1] ?? 0) & 0x7f
      const begin = short < 126 ? 2 : short === 126 ? 4 : 10
      if (bytes.length < begin) return
      const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
      if (bytes.length < begin + length) return
      this.frames.push({ opcode: (bytes[0] ?? 0) & 0x0f, payload: bytes.subarray(begin, begin + length) })
      this.#unread = bytes.subarray(begin + length)
    }
  }
}
