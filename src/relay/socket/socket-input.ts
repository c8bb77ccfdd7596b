import { type OnReadOpts, Socket } from 'node:net'
import { ByteRoom } from '../bytes/byte-room.ts'
import type { ChunkReader, ReadBatch } from './read-batch.ts'
import { bytesRead, handleOf, readSecureWith, secureHandleOf, type SocketHandle } from './socket-handle.ts'

/** One read buffer for all connections: Node fills it and calls back at once. */
const room = new ByteRoom(65_536)

/**
 * Reads a connection through the shared buffer and copies out what arrived. Node would otherwise allocate 64 KiB for
 * every read and pass it through a stream's queue.
 */
export class SocketInput implements OnReadOpts, ChunkReader {
  readonly buffer = room.bytes
  readonly #batch: ReadBatch
  #listener: (chunk: Buffer) => void = () => {}
  #socket: Socket | undefined
  #isAccepted = false
  /** The socket whose stream gets the input, once it was given up. */
  #stream: Socket | undefined
  /** Whether Node reads into the shared buffer. */
  #isShared = true
  /** Node's own handler for what was read. */
  #nodeReads: SocketHandle['onread'] | undefined

  constructor(batch: ReadBatch) {
    this.#batch = batch
  }

  /**
   * Makes an accepted connection readable in this way. Node offers that only for connections that a program opens, so a
   * second socket takes over the first one's handle; one with TLS is told as Node tells those that are opened. Where
   * that is impossible, its stream is used.
   */
  accept(accepted: Socket): Socket {
    this.#isAccepted = true
    const handle = handleOf(accepted)
    if (handle) return takeOver(accepted, handle, this)
    this.#isShared = readSecureWith(accepted, this)
    if (!this.#isShared) accepted.on('data', this.#onStreamed)
    return accepted
  }

  /** Passes input to the listener, past the stream if possible. */
  listen(socket: Socket, listener: (chunk: Buffer) => void): void {
    this.#listener = listener
    this.#socket = socket
    const handle = this.#handleOf(socket)
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

  /** Called with input in its turn of the batch; a connection closed before has no listener. */
  take(chunk: Buffer): void {
    if (this.#stream) this.#stream.push(chunk)
    else if (this.#socket?.destroyed === false) this.#listener(chunk)
  }

  /** Input goes to the socket's stream from now on. */
  giveUp(socket: Socket): void {
    this.#stream = socket
    socket.off('data', this.#onStreamed)
    const handle = this.#handleOf(socket)
    if (handle && this.#nodeReads) handle.onread = this.#nodeReads
  }

  /** Returns false to stop reading for now. */
  readonly callback = (bytes: number): boolean => {
    const chunk = received(bytes)
    if (this.#stream) return this.#stream.push(chunk)
    this.#batch.handleAlone(this.#listener, chunk)
    return true
  }

  #handleOf(socket: Socket): SocketHandle | undefined {
    return this.#isShared ? (handleOf(socket) ?? secureHandleOf(socket)) : undefined
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
  // Node's types do not know this option.
  const socket: unknown = Reflect.construct(Socket, [{ handle, onread, allowHalfOpen, readable: true, writable: true }])
  if (!(socket instanceof Socket)) throw new TypeError('not a socket')
  // The server uses these to count its connections and to notice their end.
  for (const name of ['server', '_server']) Reflect.set(socket, name, Reflect.get(accepted, name))
  for (const name of ['server', '_server', '_handle']) Reflect.set(accepted, name, null)
  return socket
}
