import type { Socket } from 'node:net'
import { getSystemErrorName } from 'node:util'
import { secureHandleOf, type SocketHandle, writeRequest, type WriteRequest } from './socket-handle.ts'

type Done = (error?: Error | null) => void

/** What a stream calls to have its bytes written. It calls one of them at a time. */
interface StreamWrites {
  _write: (this: StreamWrites, chunk: unknown, encoding: BufferEncoding, done: Done) => void
  _writev: (this: StreamWrites, chunks: unknown, done: Done) => void
  _final: (this: StreamWrites, done: Done) => void
}

/**
 * Writes to a TLS connection past its stream. The handle encrypts bytes before its call returns and keeps none of them,
 * but it takes one write at a time and ends the process at a second one. So what the stream wants to write meanwhile is
 * held until the write is done, and there is a direct write only while the stream has nothing to write. More bytes than
 * one write simply queue in the stream, with its limit.
 */
export class SecureOutput {
  readonly #socket: Socket
  readonly #handle: SocketHandle
  /** Reused: it is free again when its `oncomplete` has returned. */
  readonly #request: WriteRequest
  #isUnderWay = false
  /** What the stream waits to do. */
  #held: (() => void) | undefined

  /** `undefined` if the connection does not have TLS, or if Node does not offer this any more. */
  static of(socket: Socket): SecureOutput | undefined {
    const handle = secureHandleOf(socket)
    return handle && hasStreamWrites(socket) ? new SecureOutput(socket, socket, handle) : undefined
  }

  private constructor(socket: Socket, stream: StreamWrites, handle: SocketHandle) {
    this.#socket = socket
    this.#handle = handle
    this.#request = writeRequest()
    this.#request.oncomplete = (status) => this.#completed(status)
    const { _write: write, _writev: writev, _final: end } = stream
    stream._write = (chunk, encoding, done) => this.#inTurn(() => write.call(stream, chunk, encoding, done))
    stream._writev = (chunks, done) => this.#inTurn(() => writev.call(stream, chunks, done))
    stream._final = (done) => this.#inTurn(() => end.call(stream, done))
  }

  /** Returns false if the bytes were not written: then they have to go through the stream. */
  write(bytes: Buffer): boolean {
    const socket = this.#socket
    if (this.#isUnderWay || socket.writableLength > 0 || socket.writableEnded || socket.destroyed) return false
    // It may complete within the call, with an error.
    this.#isUnderWay = true
    if (this.#handle.writeBuffer(this.#request, bytes) === 0) return true
    // The same error occurs in the stream, which reports it properly.
    this.#isUnderWay = false
    return false
  }

  #inTurn(action: () => void): void {
    if (this.#isUnderWay) this.#held = action
    else action()
  }

  #completed(status: number): void {
    const held = this.#held
    this.#held = undefined
    if (status < 0 && !this.#socket.destroyed) {
      this.#socket.destroy(new Error(`write ${getSystemErrorName(status)}`))
    }
    this.#isUnderWay = false
    held?.()
  }
}

function hasStreamWrites(socket: object): socket is StreamWrites {
  return ['_write', '_writev', '_final'].every((name) => typeof Reflect.get(socket, name) === 'function')
}
