import type { Socket } from 'node:net'
import { getSystemErrorName } from 'node:util'
import { ByteRoom } from '../bytes/byte-room.ts'
import { putBytes } from '../bytes/put-bytes.ts'
import { handleOf, isUnderWay, type SocketHandle, writeRequest, type WriteRequest } from './socket-handle.ts'

/** What is longer is written as it is: to copy it would take longer. */
export const roomBytes = 32_768

/** Where output is put together, for all connections: almost always the system has taken it before anybody has more. */
export const outputRoom = new ByteRoom(roomBytes)
/** For the next write, whosever it is; only one that goes on after its call needs its own. */
let request: WriteRequest | undefined

/**
 * What a connection sends. Bytes go past the queue of Node's stream while that is empty: it spares the bookkeeping and
 * a buffer of their own.
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

  /**
   * What is in the room is free again when this returns. Returns false when whoever has more should wait for the drain.
   */
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
  writeTogether(parts: ReadonlyArray<string | Buffer>): boolean {
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

type BatchOutput = Pick<SocketOutput, 'needsDrain' | 'write' | 'writeTogether'>

/**
 * Gathers what goes out in one turn of the event loop, so that a head and a small body leave in one write. It is put
 * together where all connections do that; who is not done yet when another one begins takes along what it has.
 */
export class OutputBatch {
  /** Whose bytes are in the room. */
  static #holder: OutputBatch | undefined
  readonly #output: BatchOutput
  /** How much of the room is ours. */
  #at = 0
  /** A buffer that came first goes out as it is, if it stays alone. */
  #first: Buffer | undefined
  /** What the room is too small for, with all that comes behind it. */
  #rest: Array<string | Buffer> | undefined

  constructor(output: BatchOutput) {
    this.#output = output
  }

  /**
   * Latin-1: heads and framing. One that was joined from others takes several times as long as these one after the
   * other.
   */
  addText(text: string): void {
    if (this.#takesRoom(text.length)) this.#at += outputRoom.bytes.write(text, this.#at, 'latin1')
    else this.#addRest(text)
  }

  addBuffer(buffer: Buffer): void {
    if (buffer.length === 0) return
    if (this.#at === 0 && !this.#first && !this.#rest) {
      this.#first = buffer
    } else if (this.#takesRoom(buffer.length)) {
      this.#at = putBytes(outputRoom.bytes, this.#at, buffer)
    } else {
      this.#addRest(buffer)
    }
  }

  /** One payload as one chunk of a chunked body. */
  addChunk(pieces: readonly Buffer[]): void {
    let length = 0
    for (const piece of pieces) length += piece.length
    // An empty chunk would end the body.
    if (length === 0) return
    this.addText(length.toString(16))
    this.addText('\r\n')
    for (const piece of pieces) this.addBuffer(piece)
    this.addText('\r\n')
  }

  /** Returns false when whoever has more should wait for the drain. */
  flush(): boolean {
    const bytes = this.#at
    const first = this.#first
    const rest = this.#rest
    this.#at = 0
    this.#first = undefined
    this.#rest = undefined
    if (rest) return this.#output.writeTogether(bytes > 0 ? [Buffer.from(outputRoom.first(bytes)), ...rest] : rest)
    if (first) return this.#output.write(first)
    return bytes > 0 ? this.#output.write(outputRoom.first(bytes)) : !this.#output.needsDrain
  }

  /** Whether so much more goes into the room, behind what is there. */
  #takesRoom(bytes: number): boolean {
    if (this.#rest) return false
    const holder = OutputBatch.#holder
    if (holder !== this) {
      if (holder) holder.#leaveRoom()
      OutputBatch.#holder = this
    }
    const first = this.#first
    if (!first) return this.#at + bytes <= roomBytes
    this.#first = undefined
    if (first.length + bytes <= roomBytes) {
      outputRoom.bytes.set(first, 0)
      this.#at = first.length
      return true
    }
    this.#rest = [first]
    return false
  }

  #leaveRoom(): void {
    if (this.#at === 0) return
    this.#rest = [Buffer.from(outputRoom.first(this.#at)), ...(this.#rest ?? [])]
    this.#at = 0
  }

  #addRest(part: string | Buffer): void {
    if (this.#rest) this.#rest.push(part)
    else this.#rest = [part]
  }
}
