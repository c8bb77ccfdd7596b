import { abortReason } from '../foundation/clock.ts'
import { asError } from '../foundation/errors.ts'
import type { ForwardError, ForwardOptions, ForwardResult } from './exchange.ts'
import type { AbortListener, ForwardSide } from './forward-side.ts'
import { interimHead } from './response-fields.ts'
import type { ParsedResponse } from './response-head.ts'
import { type BodyEnd, ClientSink, type ResponseSink, StreamSink } from './response-sink.ts'
import { type CallEvents, type CallRequest, UpstreamCall } from './upstream-call.ts'
import type { UpstreamConnection } from './upstream-connection.ts'

/** How a try ends: one of these, once. */
export interface AttemptEnd {
  delivered(result: ForwardResult): void
  /** Nothing of a response arrived whole. */
  failed(phase: ForwardError['phase'], stale: boolean, error: Error): void
  /** With the abort's reason, or what the handler's own callback threw. */
  rejected(error: Error): void
}

/** One try to get a response from one connection and to hand it on. */
export class ForwardAttempt implements CallEvents, AbortListener {
  readonly #side: ForwardSide
  readonly #options: ForwardOptions
  readonly #end: AttemptEnd
  readonly #sink: ResponseSink
  #call: UpstreamCall | undefined
  #connection: UpstreamConnection | undefined
  #response: ParsedResponse | undefined
  #tunnelled = false
  #firstByteAt = 0
  #responseBytes = 0
  #onSignal: (() => void) | undefined
  #over = false

  constructor(side: ForwardSide, options: ForwardOptions, end: AttemptEnd) {
    this.#side = side
    this.#end = end
    this.#options = options
    this.#sink = options.into ? new StreamSink(options.into) : new ClientSink(side, options.responseHeaders)
  }

  run(connection: UpstreamConnection, request: CallRequest): void {
    this.#connection = connection
    this.#call = new UpstreamCall(connection, request, this, this.#side.limits)
    this.#side.onAbort(this)
    this.#listenTo(this.#options.signal)
    this.#call.start()
  }

  #reject(error: Error): void {
    if (this.#letGo()) this.#end.rejected(error)
  }

  /** Returns false when it was over already. */
  #letGo(): boolean {
    if (this.#over) return false
    this.#over = true
    this.#side.forgetAbort(this)
    if (this.#onSignal) this.#options.signal?.removeEventListener('abort', this.#onSignal)
    return true
  }

  #listenTo(signal: AbortSignal | undefined): void {
    if (!signal) return
    this.#onSignal = () => this.onAborted(abortReason(signal))
    signal.addEventListener('abort', this.#onSignal, { once: true })
  }

  onFirstByte(): void {
    this.#firstByteAt = this.#side.clock.now()
  }

  onInformational(response: ParsedResponse): void {
    if (this.#options.into) return
    this.#side.writer.informational(interimHead(response))
    this.#side.writer.flush()
  }

  onHead(response: ParsedResponse): void {
    this.#response = response
    try {
      this.#options.onResponseHead?.(response.head, this.#firstByteAt)
      this.#sink.begin(response, this.#firstByteAt)
    } catch (error) {
      // A handler that does not want this response says so by throwing; nothing has reached the client.
      this.#response = undefined
      this.#call?.abort()
      this.#reject(asError(error))
    }
  }

  onBody(pieces: readonly Buffer[], end: BodyEnd | undefined, framed?: Buffer): Promise<void> | undefined {
    for (const piece of pieces) {
      this.#responseBytes += piece.length
      this.#options.onResponsePiece?.(piece)
    }
    const wait = this.#sink.body(pieces, end, framed)
    if (!end) return wait
    this.#deliverAfter(wait, true)
    return undefined
  }

  onReusable(keptForMs: number): void {
    if (this.#connection) this.#side.pool.give(this.#connection, keptForMs)
  }

  onUpgraded(response: ParsedResponse, leftover: Buffer): void {
    this.#response = response
    const socket = this.#connection?.detach()
    if (!socket) return
    try {
      this.#options.onResponseHead?.(response.head, this.#firstByteAt)
      const protocol = response.head.headers.get('upgrade') ?? this.#side.facts.upgrade ?? ''
      this.#side.writer.switchProtocols(interimHead(response, this.#options.responseHeaders), protocol)
      this.#side.writer.flush()
    } catch (error) {
      socket.destroy()
      return this.#reject(asError(error))
    }
    this.#tunnelled = true
    this.#side.tunnelTo(socket, leftover).then(
      ({ requestBytes, responseBytes }) => {
        const result = { status: 101, requestBytes, responseBytes, firstByteAt: this.#firstByteAt, complete: true }
        if (this.#letGo()) this.#end.delivered(result)
      },
      (error: Error) => this.#reject(error),
    )
  }

  onFailed(phase: ForwardError['phase'], stale: boolean, error: Error): void {
    if (this.#letGo()) this.#end.failed(phase, stale, error)
  }

  onBroken(error: Error): void {
    const response = this.#response
    if (!response) return this.#reject(error)
    const last = this.#sink.openEnded && !this.#side.gone ? this.#lastWords(response, error) : undefined
    if (last === undefined) {
      this.#side.cut()
      return this.#deliver(false)
    }
    this.#deliverAfter(this.#sink.body([Buffer.from(last)], { trailers: [] }), false)
  }

  onClientFailed(error: Error): void {
    if (this.#response && this.#side.writer.started) this.#side.cut()
    this.#reject(error)
  }

  onAborted(reason: Error): void {
    if (this.#tunnelled) return
    this.#call?.abort()
    // A stop while the client still listens is told to it like any other break; a client that left hears nothing.
    if (this.#response && !this.#side.gone) this.onBroken(reason)
    else this.#reject(reason)
  }

  #lastWords(response: ParsedResponse, error: Error): Buffer | string | undefined {
    try {
      return this.#options.onBrokenOff?.(response.head, error)
    } catch {
      return undefined
    }
  }

  #deliverAfter(wait: Promise<void> | undefined, complete: boolean): void {
    if (wait)
      wait.then(
        () => this.#deliver(complete),
        (error: Error) => this.#reject(error),
      )
    else this.#deliver(complete)
  }

  #deliver(complete: boolean): void {
    const result = {
      status: this.#response?.head.status ?? 0,
      requestBytes: this.#call?.requestBytes ?? 0,
      responseBytes: this.#responseBytes,
      firstByteAt: this.#firstByteAt,
      complete,
    }
    if (this.#letGo()) this.#end.delivered(result)
  }
}
