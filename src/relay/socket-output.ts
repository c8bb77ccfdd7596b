import type { Socket } from 'node:net'
import { rangeOf } from './body-decoder.ts'
import { isPlain } from './socket-input.ts'

/** What is longer is written as it is: to copy it would take longer. */
export const roomBytes = 32_768

/** Where output is put together: most of it is sent before anybody has more. */
let room = Buffer.allocUnsafeSlow(roomBytes)

/** What a socket's stream itself calls when it is some bytes' turn. */
interface DirectWriter {
  _write(bytes: Buffer, encoding: 'buffer', written: (error?: Error | null) => void): void
}

/**
 * What a connection sends. Bytes go past the queue of Node's stream while that is empty: it spares the bookkeeping and, as the
 * system has almost always taken them when the call returns, a buffer of their own.
 */
export class SocketOutput {
  readonly #socket: Socket
  readonly #direct: DirectWriter | undefined
  readonly #onDrain: () => void
  /** Direct writes that the system has not taken whole yet. */
  #unsent = 0
  #isWriting = false

  /** `onDrain` is called when there is room again after a write that returned false. */
  constructor(socket: Socket, onDrain: () => void) {
    this.#socket = socket
    this.#direct = isDirectWriter(socket) ? socket : undefined
    this.#onDrain = onDrain
    socket.on('drain', onDrain)
  }

  get needsDrain(): boolean {
    return this.#unsent > 0 || this.#socket.writableNeedDrain
  }

  /** Where to put so many bytes; they are to be written at once. */
  roomFor(bytes: number): Buffer {
    return this.#queueIsEmpty() && bytes <= roomBytes ? rangeOf(room, 0, bytes) : Buffer.allocUnsafe(bytes)
  }

  /** Returns false when whoever has more should wait for the drain. */
  write(bytes: Buffer): boolean {
    if (!this.#direct || !this.#queueIsEmpty()) return this.#socket.write(bytes) && this.#unsent === 0
    this.#unsent++
    this.#isWriting = true
    this.#direct._write(bytes, 'buffer', this.#written)
    this.#isWriting = false
    if (this.#unsent === 0) return true
    if (bytes.buffer === room.buffer) room = Buffer.allocUnsafeSlow(roomBytes)
    return false
  }

  /** With one call of the system. */
  writeGathered(parts: ReadonlyArray<string | Buffer>): boolean {
    this.#socket.cork()
    let hasRoom = true
    for (const part of parts) {
      if (part.length > 0) hasRoom = this.#socket.write(part, 'latin1')
    }
    this.#socket.uncork()
    return hasRoom && this.#unsent === 0
  }

  /** Somebody else writes to the socket from here on. */
  giveUp(): void {
    this.#socket.off('drain', this.#onDrain)
  }

  #queueIsEmpty(): boolean {
    return this.#direct !== undefined && this.#socket.writableLength === 0
  }

  readonly #written = (error?: Error | null): void => {
    this.#unsent--
    if (error) this.#socket.destroy(error)
    else if (!this.#isWriting && !this.needsDrain) this.#onDrain()
  }
}

function isDirectWriter(socket: Socket): socket is Socket & DirectWriter {
  return isPlain(socket)
}
