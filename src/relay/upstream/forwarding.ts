import { asError, errorMessage } from '../../foundation/errors.ts'
import { forwardedFields, interimHead } from '../client/response-writer.ts'
import {
  type Done,
  type ForwardEnd,
  ForwardError,
  type ForwardOptions,
  type ForwardResult,
  type ResponseStream,
  type Upstream,
} from '../exchange.ts'
import type { HeaderField } from '../http/header-field.ts'
import type { ParsedResponse } from '../http/response-head.ts'
import type { AbortListener, ForwardSide } from './forward-side.ts'
import { type OutgoingRequest, outgoingRequest } from './outgoing-request.ts'
import { type BodyEnd, type CallEvents, UpstreamCall } from './upstream-call.ts'
import type { UpstreamConnection } from './upstream-connection.ts'

const idempotentMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE', 'PROPFIND', 'REPORT', 'SEARCH'])

/**
 * A request that must not be sent twice uses only a connection that was active this recently, because that is surely
 * open.
 */
const freshlyUsedMs = 500

export function forward(side: ForwardSide, upstream: Upstream, options: ForwardOptions, end: ForwardEnd): void {
  try {
    if (side.writer.started && !options.into) throw new Error('the response was already begun')
    if (side.body.consumed) throw new ForwardError('connect', false, 'the request body is already gone')
    new Forwarding(side, upstream, options, end).begin()
  } catch (error) {
    end.onNotDelivered(asError(error))
  }
}

/**
 * Forwards a request to an upstream and the response back: on one connection or, if that turns out to have been closed
 * while idle, on a new one.
 */
class Forwarding implements CallEvents, AbortListener {
  readonly #side: ForwardSide
  readonly #options: ForwardOptions
  readonly #end: ForwardEnd
  readonly #request: OutgoingRequest
  readonly #isReplayable: boolean
  readonly #sink: ResponseSink
  #connection: UpstreamConnection | undefined
  #call: UpstreamCall | undefined
  #response: ParsedResponse | undefined
  #isTunnelled = false
  #firstByteAt = 0
  #responseBytes = 0
  #isOver = false

  constructor(side: ForwardSide, upstream: Upstream, options: ForwardOptions, end: ForwardEnd) {
    this.#side = side
    this.#options = options
    this.#end = end
    const request = outgoingRequest(side, upstream, options)
    this.#request = request
    // RFC 9110 9.2.2: what is not idempotent is only repeated by those who know what it does.
    this.#isReplayable = request.whole !== undefined && (side.bodyWasRead || idempotentMethods.has(request.method))
    this.#sink = options.into ? new StreamSink(options.into) : new ClientSink(side, options.responseHeaders)
  }

  begin(): void {
    const { whole, upstream } = this.#request
    const maxIdleMs = this.#isReplayable ? Number.POSITIVE_INFINITY : freshlyUsedMs
    const connection = whole && this.#side.pool.take(upstream, maxIdleMs)
    if (connection) this.#send(connection)
    else this.#open()
  }

  /** This waits, with a promise: a new connection has to be opened. */
  #open(): void {
    const { pool, signal } = this.#side
    pool
      .open(this.#request.upstream, { signal, timeoutMs: this.#options.connectTimeoutMs })
      .then((connection) => this.#send(connection))
      .catch((error: unknown) => this.#reject(asError(error)))
  }

  #send(connection: UpstreamConnection): void {
    this.#connection = connection
    this.#call = new UpstreamCall(connection, this.#request, this, this.#side.limits)
    this.#side.onAbort(this)
    this.#call.start()
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
      // A handler refuses this response by throwing; the client has got nothing yet.
      this.#response = undefined
      this.#call?.abort()
      this.#reject(asError(error))
    }
  }

  onBody(pieces: readonly Buffer[], end: BodyEnd | undefined, framed?: Buffer): boolean {
    for (const piece of pieces) {
      this.#responseBytes += piece.length
      this.#options.onResponsePiece?.(piece)
    }
    const hasRoom = this.#sink.body(pieces, end, framed)
    if (end) this.#deliver(hasRoom, true)
    return hasRoom
  }

  whenDrained(done: Done): void {
    this.#sink.whenDrained(done)
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
    this.#isTunnelled = true
    this.#side.tunnelTo(socket, leftover).then(
      ({ requestBytes, responseBytes }) =>
        this.#finish({ status: 101, requestBytes, responseBytes, firstByteAt: this.#firstByteAt, complete: true }),
      (error: Error) => this.#reject(error),
    )
  }

  onFailed(phase: ForwardError['phase'], stale: boolean, error: Error): void {
    // The upstream closed the idle connection: that does not mean it failed.
    const rested = this.#connection !== undefined && this.#connection.served > 0
    if (stale && rested && this.#isReplayable) {
      this.#side.forgetAbort(this)
      return this.#open()
    }
    const retryable = !this.#side.body.consumed && !this.#side.gone
    this.#reject(new ForwardError(phase, retryable, errorMessage(error), { cause: error }))
  }

  onBroken(error: Error): void {
    const response = this.#response
    if (!response) return this.#reject(error)
    const last = this.#sink.openEnded && !this.#side.gone ? this.#lastWords(response, error) : undefined
    if (last !== undefined) return this.#deliver(this.#sink.body([Buffer.from(last)], { trailers: [] }), false)
    this.#side.cut()
    this.#deliver(true, false)
  }

  onClientFailed(error: Error): void {
    if (this.#response && this.#side.writer.started) this.#side.cut()
    this.#reject(error)
  }

  onAborted(reason: Error): void {
    if (this.#isTunnelled) return
    this.#call?.abort()
    // A client that is still there is told about a stop like any other break; one that left gets nothing.
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

  #deliver(hasRoom: boolean, complete: boolean): void {
    const result = {
      status: this.#response?.head.status ?? 0,
      requestBytes: this.#call?.requestBytes ?? 0,
      responseBytes: this.#responseBytes,
      firstByteAt: this.#firstByteAt,
      complete,
    }
    if (hasRoom) return this.#finish(result)
    this.#sink.whenDrained((failure) => {
      if (failure === undefined) this.#finish(result)
      else this.#reject(asError(failure))
    })
  }

  #finish(result: ForwardResult): void {
    if (this.#letGo()) this.#end.onDelivered(result)
  }

  #reject(error: Error): void {
    if (this.#letGo()) this.#end.onNotDelivered(error)
  }

  /** Returns false if it was over already. */
  #letGo(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#side.forgetAbort(this)
    return true
  }
}

/** Where an upstream's response goes. */
interface ResponseSink {
  /** Whether text can be added after the upstream broke off. */
  readonly openEnded: boolean
  begin(response: ParsedResponse, firstByteAt: number): void
  /** Returns false if the sender should wait for `whenDrained`, also at the end. */
  body(pieces: readonly Buffer[], end: BodyEnd | undefined, framed?: Buffer): boolean
  /** Calls back when there is room or, at the end, when everything was handed over. */
  whenDrained(done: Done): void
}

/** The client's connection: gets the head and the body as the upstream sent them. */
class ClientSink implements ResponseSink {
  readonly #side: ForwardSide
  readonly #headers: readonly HeaderField[] | undefined

  constructor(side: ForwardSide, headers: readonly HeaderField[] | undefined) {
    this.#side = side
    this.#headers = headers
  }

  get openEnded(): boolean {
    return this.#side.writer.openEnded
  }

  begin(response: ParsedResponse, firstByteAt: number): void {
    const fields = forwardedFields(response, this.#headers)
    this.#side.writer.begin(response.head.status, fields, fields.contentLength, firstByteAt)
  }

  body(pieces: readonly Buffer[], end: BodyEnd | undefined, framed?: Buffer): boolean {
    const { writer } = this.#side
    if (!framed || !writer.chunks(framed)) writer.pieces(pieces)
    if (end && !writer.end(end.trailers)) this.#side.cut()
    return writer.flush()
  }

  whenDrained(done: Done): void {
    this.#side.whenDrained(done)
  }
}

/** A response already begun: gets only the body. Its stream uses promises, because it began while a model woke. */
class StreamSink implements ResponseSink {
  readonly openEnded = true
  readonly #stream: ResponseStream
  #sending: Promise<void> = Promise.resolve()

  constructor(stream: ResponseStream) {
    this.#stream = stream
  }

  begin(): void {}

  body(pieces: readonly Buffer[], end: BodyEnd | undefined): boolean {
    if (pieces.length === 0 && !end) return true
    this.#sending = this.#send(pieces, end !== undefined)
    // A failure is reported to whoever waits for the stream; there may be nobody.
    this.#sending.catch(() => {})
    return false
  }

  whenDrained(drained: Done): void {
    this.#sending.then(() => drained(), drained)
  }

  async #send(pieces: readonly Buffer[], end: boolean): Promise<void> {
    const [first] = pieces
    if (first) await this.#stream.write(pieces.length === 1 ? first : Buffer.concat(pieces))
    if (end) await this.#stream.end()
  }
}
