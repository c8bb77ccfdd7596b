import { type Socket, connect } from 'node:net'
import { abortReason, type Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import { ForwardError, type Upstream } from '../exchange.ts'
import { type HeadLimits, HeadReader } from '../http/head-reader.ts'
import { type ParsedResponse, responseHeads } from '../http/response-head.ts'
import { Deadline } from '../socket/deadline.ts'
import type { ReadBatch } from '../socket/read-batch.ts'
import { SocketInput } from '../socket/socket-input.ts'
import { OutputBatch, SocketOutput } from '../socket/socket-output.ts'

/** What a running request is told by its connection. Nothing follows `onClosed`. */
export interface UpstreamListener {
  onData(chunk: Buffer): void
  onDrain(): void
  /** Nothing came within the expected time. */
  onOverdue(): void
  /** The upstream ended (no error), or the connection failed. */
  onClosed(error: Error | undefined): void
}

interface ConnectionOptions {
  readonly address: string
  readonly clock: Clock
  readonly limits: HeadLimits
  /** Called if it closes while idle, so that the pool forgets it. */
  readonly onIdleClosed: (connection: UpstreamConnection) => void
}

/** One connection to an upstream, used by one request at a time; it listens to its socket for its whole life. */
export class UpstreamConnection {
  /** The pool's key for its upstream. */
  readonly address: string
  readonly socket: Socket
  readonly #input: SocketInput
  readonly #output: SocketOutput
  readonly out: OutputBatch
  readonly deadline: Deadline
  /** Reads the heads of responses. */
  readonly reader: HeadReader<ParsedResponse>
  #listener: UpstreamListener | undefined
  #error: Error | undefined
  readonly #onIdleClosed: (connection: UpstreamConnection) => void
  #closed = false
  /** How many requests it has answered. */
  served = 0
  idleSince = 0

  constructor(socket: Socket, input: SocketInput, { address, clock, limits, onIdleClosed }: ConnectionOptions) {
    this.socket = socket
    this.address = address
    this.#output = new SocketOutput(socket, () => this.#listener?.onDrain())
    this.out = new OutputBatch(this.#output)
    this.deadline = new Deadline(clock)
    this.reader = new HeadReader(limits, responseHeads)
    this.#onIdleClosed = onIdleClosed
    this.#input = input
    input.listen(socket, this.#onData)
    socket.on('end', this.#close)
    socket.on('close', this.#close)
    socket.on('error', (error) => {
      this.#error = error
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  /** The upstream has to send something within this time. */
  expectWithin(ms: number): void {
    this.deadline.set(ms, this.#overdue)
  }

  use(listener: UpstreamListener): void {
    this.#listener = listener
  }

  /** Removes the listener. */
  rest(): void {
    this.#listener = undefined
  }

  /** Gives the socket away (to a tunnel) and forgets it. */
  detach(): Socket {
    this.#closed = true
    this.#listener = undefined
    this.deadline.dispose()
    this.#input.giveUp(this.socket)
    this.#output.giveUp()
    this.socket.off('end', this.#close)
    this.socket.off('close', this.#close)
    return this.socket
  }

  destroy(): void {
    this.#listener = undefined
    this.#close()
  }

  readonly letGo = (): void => this.destroy()

  readonly #overdue = (): void => this.#listener?.onOverdue()

  readonly #onData = (chunk: Buffer): void => {
    // Unexpected bytes must not be taken for the answer to the next request.
    if (this.#listener) this.#listener.onData(chunk)
    else this.destroy()
  }

  readonly #close = (): void => {
    if (this.#closed) return
    this.#closed = true
    this.deadline.dispose()
    const listener = this.#listener
    this.#listener = undefined
    this.socket.destroy()
    if (listener) listener.onClosed(this.#error)
    else this.#onIdleClosed(this)
  }
}

export interface OpenOptions extends ConnectionOptions {
  readonly batch: ReadBatch
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Opens a connection, or throws a ForwardError of the phase `connect`, or the signal's reason. */
export function openUpstream(upstream: Upstream, options: OpenOptions): Promise<UpstreamConnection> {
  const { signal } = options
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(abortReason(signal))
    const input = new SocketInput(options.batch)
    const { host, port } = upstream
    const socket = connect({ host, port, noDelay: true, allowHalfOpen: true, onread: input })
    const settle = () => {
      cancelTimer()
      signal.removeEventListener('abort', onAbort)
      socket.off('connect', onConnect)
      socket.off('error', onError)
    }
    const onConnect = () => {
      settle()
      resolve(new UpstreamConnection(socket, input, options))
    }
    const onError = (error: Error) => {
      settle()
      socket.destroy()
      reject(new ForwardError('connect', true, `cannot connect (${errorMessage(error)})`, { cause: error }))
    }
    const onAbort = () => {
      settle()
      socket.destroy()
      reject(abortReason(signal))
    }
    const cancelTimer = options.clock.after(options.timeoutMs, () =>
      onError(new Error(`no connection within ${options.timeoutMs} ms`)),
    )
    signal.addEventListener('abort', onAbort, { once: true })
    socket.on('connect', onConnect)
    socket.on('error', onError)
  })
}
