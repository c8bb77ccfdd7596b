import type { Socket } from 'node:net'
import { getSystemErrorName } from 'node:util'
import { ByteRoom } from '../foundation/byte-room.ts'
import { handleOf, isUnderWay, type SocketHandle, writeRequest, type WriteRequest } from './socket-handle.ts'

/** What is longer is written as it is: to copy it would take longer. */
export const roomBytes = 32_768

/** Where output is put together, for all connections: almost always the system has taken it before anybody has more. */
export const outputRoom = new ByteRoom(roomBytes)
/** For the next write, whosever it is; only one that goes on after its call needs its own. */
let request: WriteRequest | undefined

/**
 * What a connection sends. Bytes go past the queue of Node's stream while that is empty: it spares the bookkeeping and a buffer
 * of their own.
 */
export class SocketOutput {
  readonly #socket: Socket
  readonly #handle: SocketHandle | undefined
  readonly #onDrain: () => void
  /** Writes past the queue that the system has not taken whole yet. */
  #underWay = 0

  /** `onDrain` is called when there is room again after a write that returned false. */
  constructor(socket: Socket, onDrain: () => void) {
    this.#socket = socket
    this.#handle = handleOf(socket)
    this.#onDrain = onDrain
    socket.on('drain', onDrain)
  }

  get needsDrain(): boolean {
    return this.#underWay > 0 || this.#socket.writableNeedDrain
  }

  /** What is in the room is free again when this returns. Returns false when whoever has more should wait for the drain. */
  write(bytes: Buffer): boolean {
    if (!this.#handle || this.#socket.writableLength > 0) return this.#queue(bytes)
    request ??= writeRequest()
    const failure = this.#handle.writeBuffer(request, bytes)
    if (failure === 0 && !isUnderWay()) return true
    const used = request
    request = undefined
    // What fails here fails in the queue, too, and there everybody hears why.
    if (failure !== 0) return this.#queue(bytes)
    this.#waitFor(used, bytes)
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
    return hasRoom && this.#underWay === 0
  }

  /** Somebody else writes to the socket from here on. */
  giveUp(): void {
    this.#socket.off('drain', this.#onDrain)
  }

  #queue(bytes: Buffer): boolean {
    const kept = outputRoom.has(bytes) ? Buffer.from(bytes) : bytes
    return this.#socket.write(kept) && this.#underWay === 0
  }

  #waitFor(write: WriteRequest, bytes: Buffer): void {
    if (outputRoom.has(bytes)) outputRoom.renew()
    this.#underWay++
    write.buffer = bytes
    write.oncomplete = (status) => {
      this.#underWay--
      if (status < 0) this.#socket.destroy(new Error(`write ${getSystemErrorName(status)}`))
      else if (!this.needsDrain) this.#onDrain()
    }
  }
}
