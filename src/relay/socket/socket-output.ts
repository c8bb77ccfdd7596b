import type { Socket } from 'node:net'
import { getSystemErrorName } from 'node:util'
import { ByteRoom } from '../bytes/byte-room.ts'
import { putBytes } from '../bytes/put-bytes.ts'
import { SecureOutput } from './secure-output.ts'
import { handleOf, isUnderWay, type SocketHandle, writeRequest, type WriteRequest } from './socket-handle.ts'

/** Longer output is written directly: copying it would take longer. */
export const roomBytes = 32_768

/**
 * The buffer where output of all connections is assembled: the system has almost always taken it before the next
 * begins.
 */
export const outputRoom = new ByteRoom(roomBytes)
/** The write request to use next, for any connection; a write that continues after its call keeps its own. */
let request: WriteRequest | undefined

/**
 * Writes to a connection. While the queue of Node's stream is empty, bytes go directly to its handle, which saves the
 * bookkeeping and a buffer.
 */
export class SocketOutput {
  readonly #socket: Socket
  readonly #handle: SocketHandle | undefined
  readonly #secure: SecureOutput | undefined
  readonly #onDrain: () => void
  /** Direct writes that the system has not fully taken yet. */
  #underWay = 0

  /** `onDrain` is called when there is room again after `write` returned false. */
  constructor(socket: Socket, onDrain: () => void) {
    this.#socket = socket
    this.#handle = handleOf(socket)
    this.#secure = SecureOutput.of(socket)
    this.#onDrain = onDrain
    socket.on('drain', onDrain)
  }

  get needsDrain(): boolean {
    return this.#underWay > 0 || this.#socket.writableNeedDrain
  }

  /** The shared buffer may be reused when this returns. Returns false if the caller should wait for the drain. */
  write(bytes: Buffer): boolean {
    if (this.#secure) return this.#secure.write(bytes) || this.#queue(bytes)
    if (!this.#handle || this.#socket.writableLength > 0) return this.#queue(bytes)
    request ??= writeRequest()
    const failure = this.#handle.writeBuffer(request, bytes)
    if (failure === 0 && !isUnderWay()) return true
    const used = request
    request = undefined
    // An error here also occurs in the queue, which reports it properly.
    if (failure !== 0) return this.#queue(bytes)
    this.#waitFor(used, bytes)
    return false
  }

  /** Writes several parts with one system call. */
  writeTogether(parts: ReadonlyArray<string | Buffer>): boolean {
    this.#socket.cork()
    let hasRoom = true
    for (const part of parts) {
      if (part.length > 0) hasRoom = this.#socket.write(part, 'latin1')
    }
    this.#socket.uncork()
    return hasRoom && this.#underWay === 0
  }

  /** The socket is written by somebody else from now on. */
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
 * Collects the output of one turn of the event loop, so that a head and a small body leave in one write. It uses the
 * shared buffer; if another connection needs that, what was collected is copied out.
 */
export class OutputBatch {
  /** Whose bytes are in the shared buffer. */
  static #holder: OutputBatch | undefined
  readonly #output: BatchOutput
  /** How many bytes of the shared buffer are ours. */
  #at = 0
  /** A buffer that came first; if it stays alone, it is written without a copy. */
  #first: Buffer | undefined
  /** What did not fit, and everything after it. */
  #rest: Array<string | Buffer> | undefined

  constructor(output: BatchOutput) {
    this.#output = output
  }

  /** For heads and framing, in Latin-1. Several short texts are faster than one that was concatenated. */
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

  /** Adds a payload as one chunk. */
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

  /** Returns false if the caller should wait for the drain. */
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

  /** Whether this many bytes fit into the shared buffer; takes it over from another connection. */
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
