import { asError, errorMessage } from '../../foundation/errors.ts'
import type { RequestBody } from '../client/request-body.ts'
import type { Done, ForwardError } from '../exchange.ts'
import {
  type BodyDecoder,
  ChunkedDecoder,
  LengthDecoder,
  UntilCloseDecoder,
  emptyBody,
  rangeOf,
} from '../http/body-decoder.ts'
import { invalidHttp } from '../http/head-reader.ts'
import type { HeaderField } from '../http/header-field.ts'
import { isBodiless, type ParsedResponse } from '../http/response-head.ts'
import type { RelayLimits } from '../limits.ts'
import { type OutgoingRequest, trailerFields, writeOutgoingHead } from './outgoing-request.ts'
import type { UpstreamConnection, UpstreamListener } from './upstream-connection.ts'

export interface BodyEnd {
  readonly trailers: readonly HeaderField[]
}

/**
 * The events of a request sent to an upstream. The last one is `onFailed`, `onUpgraded`, an end of body or `onBroken`.
 */
export interface CallEvents {
  onFirstByte(): void
  onInformational(response: ParsedResponse): void
  onHead(response: ParsedResponse): void
  /**
   * `end` comes with the last pieces. `framed` is the same input with its framing, if that can be sent on as it is.
   * Returns false to stop reading until `whenDrained`.
   */
  onBody(pieces: readonly Buffer[], end: BodyEnd | undefined, framed?: Buffer): boolean
  whenDrained(done: Done): void
  onUpgraded(response: ParsedResponse, leftover: Buffer): void
  /** No final response arrived. `stale`: the connection was closed without a byte. */
  onFailed(phase: ForwardError['phase'], stale: boolean, error: Error): void
  /** The response broke off inside its body. */
  onBroken(error: Error): void
  /** The client's body failed, or the destination of the response. */
  onClientFailed(error: Error): void
  /** The connection can be used again; give it to the pool or destroy it. */
  onReusable(keptForMs: number): void
}

const cleanEnd: BodyEnd = { trailers: [] }

/** More interim responses than this are refused. */
const maxInformational = 32

/** One request on one upstream connection: sends it, reads the response, and reports what happened. */
export class UpstreamCall implements UpstreamListener {
  readonly #connection: UpstreamConnection
  readonly #request: OutgoingRequest
  readonly #events: CallEvents
  readonly #limits: RelayLimits
  #expected: 'answer' | 'head' | 'more' = 'answer'
  #decoder: BodyDecoder = emptyBody
  #response: ParsedResponse | undefined
  #informational = 0
  #heard = false
  #sent = false
  #over = false
  /** Whether nothing more is read until the client has taken what there is. */
  #held = false
  requestBytes = 0

  constructor(connection: UpstreamConnection, request: OutgoingRequest, events: CallEvents, limits: RelayLimits) {
    this.#connection = connection
    this.#request = request
    this.#events = events
    this.#limits = limits
  }

  start(): void {
    const { out } = this.#connection
    const { whole, stream } = this.#request
    this.#connection.use(this)
    writeOutgoingHead(this.#request, out)
    this.#expectFirstByte()
    if (whole) {
      this.#sendPieces(whole)
      this.#sendEnd(stream.trailers)
    } else {
      this.#pump(stream)
    }
    if (!this.#over) out.flush()
  }

  /** The response is not wanted any more. No event follows. */
  abort(): void {
    if (this.#over) return
    this.#finish()
    this.#connection.destroy()
  }

  onData(chunk: Buffer): void {
    if (!this.#heard) {
      this.#heard = true
      this.#events.onFirstByte()
    }
    let at = 0
    try {
      while (!this.#response) {
        const { reader } = this.#connection
        const begun = reader.begun
        at = reader.push(chunk, at)
        if (at < 0) {
          // Measured from its first byte, so that a head cannot be sent forever drop by drop.
          if (!begun && reader.begun) this.#expectHead()
          return
        }
        this.#takeHead(reader.take(), chunk, at)
        if (this.#over) return
      }
    } catch (error) {
      return this.#fail(badResponse(error))
    }
    this.#readBody(this.#response, chunk, at)
  }

  onDrain(): void {
    if (!this.#request.whole) this.#request.stream.resume()
  }

  onOverdue(): void {
    this.#fail(new Error(this.#whatIsOverdue()))
  }

  onClosed(error: Error | undefined): void {
    if (this.#over) return
    if (this.#decoder instanceof UntilCloseDecoder && !error) {
      this.#finish()
      this.#events.onBody([], cleanEnd)
      return
    }
    this.#fail(error ?? new Error('it closed the connection'))
  }

  #takeHead(response: ParsedResponse, chunk: Buffer, at: number): void {
    const { status } = response.head
    if (status === 101) return this.#upgrade(response, chunk.subarray(at))
    if (status < 200) {
      this.#informational++
      if (this.#informational > maxInformational) throw invalidHttp('endless interim responses')
      // The relay already answered the client's expectation itself.
      if (status !== 100) this.#events.onInformational(response)
      this.#expectFirstByte()
      return
    }
    this.#response = response
    this.#decoder = decoderOf(response, this.#request.method, this.#limits)
    this.#events.onHead(response)
  }

  #upgrade(response: ParsedResponse, leftover: Buffer): void {
    if (this.#request.upgrade === undefined) throw invalidHttp('it changes the protocol unasked')
    this.#finish()
    this.#events.onUpgraded(response, leftover)
  }

  #readBody(response: ParsedResponse, chunk: Buffer, start: number): void {
    if (this.#over) return
    const rest = this.#decoder instanceof LengthDecoder ? this.#decoder.takeRest(chunk, start) : undefined
    const pieces = rest ? [rest] : []
    let end = rest ? start + rest.length : start
    try {
      if (!rest) end = this.#decoder.push(chunk, start, pieces)
    } catch (error) {
      return this.#fail(badResponse(error))
    }
    if (this.#decoder.done) {
      const { trailers } = this.#decoder
      this.#finish()
      // Extra bytes could be taken for the answer to the next request.
      if (end === chunk.length && this.#sent && response.facts.persistent) {
        // What had been read before it was held may be the rest. The next request must be heard.
        if (this.#held) this.#connection.socket.resume()
        this.#events.onReusable(response.keptForMs)
      } else {
        this.#connection.destroy()
      }
      this.#events.onBody(pieces, trailers.length === 0 ? cleanEnd : { trailers: trailerFields(trailers) })
      return
    }
    this.#expectMore()
    const framed = this.#decoder.tookWholeChunks ? rangeOf(chunk, start, end) : undefined
    if (!this.#events.onBody(pieces, undefined, framed)) this.#holdUntilDrained()
  }

  #holdUntilDrained(): void {
    this.#held = true
    this.#connection.socket.pause()
    this.#connection.deadline.clear()
    this.#events.whenDrained((failure) => {
      if (failure !== undefined) return this.#clientFailed(asError(failure))
      if (this.#over) return
      this.#held = false
      this.#expectMore()
      this.#connection.socket.resume()
    })
  }

  #pump(body: RequestBody): void {
    const { out } = this.#connection
    body.consume({
      onPieces: (pieces) => {
        this.#sendPieces(pieces)
        if (!this.#heard) this.#expectFirstByte()
        return out.flush()
      },
      onEnd: (trailers) => {
        this.#sendEnd(trailers)
        out.flush()
      },
      onError: (error) => this.#clientFailed(error),
    })
  }

  #sendPieces(pieces: readonly Buffer[]): void {
    const { out } = this.#connection
    for (const piece of pieces) this.requestBytes += piece.length
    if (this.#request.framing === 'chunked') out.addChunk(pieces)
    else for (const piece of pieces) out.addBuffer(piece)
  }

  #sendEnd(trailers: readonly HeaderField[]): void {
    this.#sent = true
    if (this.#request.framing !== 'chunked') return
    let tail = '0\r\n'
    for (const { line } of trailerFields(trailers)) tail += line
    this.#connection.out.addText(`${tail}\r\n`)
  }

  #expectFirstByte(): void {
    this.#expected = 'answer'
    this.#connection.expectWithin(this.#request.firstByteMs)
  }

  #expectHead(): void {
    this.#expected = 'head'
    this.#connection.expectWithin(this.#limits.headTimeoutMs)
  }

  #expectMore(): void {
    this.#expected = 'more'
    this.#connection.expectWithin(this.#limits.upstreamIdleBodyMs)
  }

  #whatIsOverdue(): string {
    switch (this.#expected) {
      case 'answer':
        return `no answer within ${this.#request.firstByteMs} ms`
      case 'head':
        return 'its head took too long'
      case 'more':
        return `it fell silent for ${this.#limits.upstreamIdleBodyMs} ms`
      default:
        return this.#expected satisfies never
    }
  }

  #clientFailed(error: Error): void {
    if (this.#over) return
    this.abort()
    this.#events.onClientFailed(error)
  }

  #fail(error: Error): void {
    if (this.#over) return
    const stale = !this.#heard && this.#connection.closed
    this.abort()
    if (this.#response) this.#events.onBroken(error)
    else this.#events.onFailed(this.#heard ? 'bad-response' : 'first-byte', stale, error)
  }

  #finish(): void {
    this.#over = true
    this.#connection.deadline.clear()
    if (!this.#sent) this.#request.stream.release()
  }
}

/** RFC 9112 6.3: how the body of a response ends. */
function decoderOf({ head, facts }: ParsedResponse, requestMethod: string, limits: RelayLimits): BodyDecoder {
  if (requestMethod === 'HEAD' || isBodiless(head.status)) return emptyBody
  if (facts.chunked) return new ChunkedDecoder(limits)
  return facts.contentLength === undefined ? new UntilCloseDecoder() : new LengthDecoder(facts.contentLength)
}

function badResponse(error: unknown): Error {
  return new Error(`its response is not valid HTTP (${errorMessage(error)})`, { cause: error })
}
