import { type OnReadOpts, Socket } from 'node:net'
import { ByteRoom } from '../bytes/byte-room.ts'
import type { ChunkReader, ReadBatch } from './read-batch.ts'
import { bytesRead, handleOf, type SocketHandle } from './socket-handle.ts'

/** Node reads into it and calls back at once, so one is enough for all connections. */
const room = new ByteRoom(65_536)

/**
 * What a connection receives, copied out of the one place it is read into. Node would otherwise make room for 64 KiB
 * with every read, most of it for nothing, and pass it through a stream's queue.
 */
export class SocketInput implements OnReadOpts, ChunkReader {
  readonly buffer = room.bytes
  readonly #batch: ReadBatch
  #listener: (chunk: Buffer) => void = () => {}
  #socket: Socket | undefined
  #isAccepted = false
  /** Whose stream gets it, once somebody else reads from that. */
  #stream: Socket | undefined
  /** What Node does by itself when something was read. */
  #nodeReads: SocketHandle['onread'] | undefined

  constructor(batch: ReadBatch) {
    this.#batch = batch
  }

  /**
   * The connection that a server accepted, to be read in this way. Node offers it for connections that a program opens,
   * not for those that it accepts: a second socket takes over what the first one holds. Where that cannot be, as with
   * TLS, it stays as it is and its stream is listened to.
   */
  accept(accepted: Socket): Socket {
    this.#isAccepted = true
    const handle = handleOf(accepted)
    if (handle) return takeOver(accepted, handle, this)
    accepted.on('data', this.#onStreamed)
    return accepted
  }

  /** What arrives goes to the listener; past the stream's own function for it, where there is a way. */
  listen(socket: Socket, listener: (chunk: Buffer) => void): void {
    this.#listener = listener
    this.#socket = socket
    const handle = handleOf(socket)
    if (!handle) return
    const nodeReads = handle.onread
    this.#nodeReads = nodeReads
    const batch = this.#batch
    const kind = this.#isAccepted ? 'requests' : 'answers'
    handle.onread = (buffer) => {
      const bytes = bytesRead()
      if (bytes > 0) return batch.add(kind, this, received(bytes))
      batch.handle()
      return Reflect.apply(nodeReads, handle, [buffer])
    }
  }

  /** Called when the turn comes of what was read; nobody listens to a connection any more that was closed before. */
  take(chunk: Buffer): void {
    if (this.#stream) this.#stream.push(chunk)
    else if (this.#socket?.destroyed === false) this.#listener(chunk)
  }

  /** From here on somebody else reads it from the socket's stream. */
  giveUp(socket: Socket): void {
    this.#stream = socket
    socket.off('data', this.#onStreamed)
    const handle = handleOf(socket)
    if (handle && this.#nodeReads) handle.onread = this.#nodeReads
  }

  /** Returns false when no more is to be read for now. */
  readonly callback = (bytes: number): boolean => {
    const chunk = received(bytes)
    if (this.#stream) return this.#stream.push(chunk)
    this.#batch.handleAlone(this.#listener, chunk)
    return true
  }

  readonly #onStreamed = (chunk: Buffer): void => this.#batch.handleAlone(this.#listener, chunk)
}

function received(bytes: number): Buffer {
  const chunk = Buffer.allocUnsafe(bytes)
  chunk.set(room.first(bytes))
  return chunk
}

function takeOver(accepted: Socket, handle: SocketHandle, onread: OnReadOpts): Socket {
  const { allowHalfOpen } = accepted
  // Of a handle that is open already Node's types know nothing.
  const socket: unknown = Reflect.construct(Socket, [{ handle, onread, allowHalfOpen, readable: true, writable: true }])
  if (!(socket instanceof Socket)) throw new TypeError('not a socket')
  // By these the server counts its connections, and hears when one is over.
  for (const name of ['server', '_server']) Reflect.set(socket, name, Reflect.get(accepted, name))
  for (const name of ['server', '_server', '_handle']) Reflect.set(accepted, name, null)
  return socket
}
