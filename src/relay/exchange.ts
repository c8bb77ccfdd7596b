import type { HeaderField } from './http/header-field.ts'
import type { HeaderList } from './http/header-list.ts'

/**
 * Hears once how something ended: nothing when it went well, else why it did not. It may hear that before the call
 * returns that it was handed to: what need not wait is done at once, without a promise and without a turn of the event
 * loop.
 */
export type Done = (failure?: unknown) => void

/**
 * Answers requests. When it fails without having answered, the server tells the client so and closes the connection.
 */
export type Handler = (exchange: Exchange, done: Done) => void

/**
 * The door of the relay: what a handler sees of one request and may do with it. Exactly one answer is given to each.
 */
export interface Exchange {
  readonly head: RequestHead
  readonly client: ClientFacts
  /** Aborted when the client's connection is gone or the server stops; everything done for this request takes it. */
  readonly signal: AbortSignal
  /** True once a byte of the response head has been handed to the socket: from then on no other answer can be given. */
  readonly responseStarted: boolean
  /** Whether all of the body is here already, as with most requests: reading it does not wait then. */
  readonly bodyArrived: boolean
  /**
   * Reads the whole body and keeps it for `forward`; `look` sees it piece by piece, and ends it by throwing. Fails with
   * `body_too_large` beyond the limit, and with whatever `look` throws; the connection ends with the answer then.
   */
  readBody(limitBytes: number, look: (piece: Buffer) => void, done: Done): void
  /** The same until `enough` says so: what was shown is kept for `forward`, and the rest streams. */
  readBodyUntil(limitBytes: number, enough: (piece: Buffer) => boolean, done: Done): void
  /** All of the body, in pieces as they came, once it was read to its end. */
  readonly keptBody: readonly Buffer[]
  /** The same as one buffer. */
  joinedBody(): Buffer
  /** Whoever reads the body gets this error instead, unless all of it is here. The connection ends with the answer. */
  refuseBody(error: Error): void
  /** A whole answer at once. */
  respond(answer: Answer, done: Done): void
  /** Sends the head now and leaves the body open (chunked, or until close for HTTP/1.0). */
  startResponse(status: number, headers: HeaderPairs): ResponseStream
  /** Moves the request to an upstream and the response back, streaming both ways with backpressure. */
  forward(upstream: Upstream, options: ForwardOptions, end: ForwardEnd): void
}

/** Hears how forwarding ended: one of these, once, and perhaps before `forward` returns. */
export interface ForwardEnd {
  onDelivered(result: ForwardResult): void
  /** A ForwardError while nothing of a response has arrived, `client_gone` when the client left, `stopping`. */
  onNotDelivered(error: Error): void
}

export interface RequestHead {
  readonly method: string
  /** As received, in origin form: path and query. */
  readonly target: string
  readonly path: string
  /** Without the question mark; empty when there is none. */
  readonly query: string
  readonly version: '1.0' | '1.1'
  readonly headers: HeaderList
}

export interface ClientFacts {
  readonly address: string
  readonly secure: boolean
  /** The name that a client over TLS has asked for in its handshake. */
  readonly serverName?: string | undefined
}

export type HeaderPairs = ReadonlyArray<readonly [name: string, value: string]>

export interface HeaderChanges {
  /** These replace those of the same name. */
  readonly set: readonly HeaderField[]
  /**
   * Names, in lower case. Lists are compared by identity, so who sends many requests with the same names uses one list:
   * otherwise nothing goes wrong, but every head is put together anew.
   */
  readonly remove: readonly string[]
}

export interface Answer {
  readonly status: number
  readonly headers?: HeaderPairs
  readonly body?: Buffer | string
}

export interface ResponseStream {
  /** Resolves when there is room for more; rejects when the client is gone. */
  write(chunk: Buffer | string): Promise<void>
  end(): Promise<void>
}

export interface Upstream {
  readonly host: string
  readonly port: number
}

export interface ForwardOptions {
  /** Path and query to ask the upstream for, instead of the client's. */
  readonly target?: string
  /** What is changed on the way up. */
  readonly requestHeaders?: HeaderChanges
  /** What is set on the way back, replacing the upstream's. */
  readonly responseHeaders?: readonly HeaderField[]
  readonly connectTimeoutMs?: number
  /** How long the upstream may take to its first response byte. */
  readonly firstByteTimeoutMs?: number
  /**
   * A response already begun with `startResponse`: the upstream's body goes there, its end ends it, and its head is
   * only reported. It may be a stream of the handler's own that passes on to the real one.
   */
  readonly into?: ResponseStream | undefined
  /**
   * Sees the upstream's response head before a byte of it goes to the client. When it throws, the response is dropped
   * and it is why `forward` fails: another answer, or another upstream, is still possible.
   */
  readonly onResponseHead?: (head: ResponseHead, firstByteAt: number) => void
  /** Sees every piece of the upstream's body on its way. */
  readonly onResponsePiece?: ((piece: Buffer) => void) | undefined
  /**
   * The upstream broke off after its first byte. What is returned is appended before the response is ended properly;
   * `undefined`, or a response of fixed length, means the client's connection is cut so that the loss is visible.
   */
  readonly onBrokenOff?: (head: ResponseHead, error: Error) => Buffer | string | undefined
}

export interface ResponseHead {
  readonly status: number
  readonly headers: HeaderList
}

export interface ForwardResult {
  readonly status: number
  readonly requestBytes: number
  readonly responseBytes: number
  /** When the upstream's first response byte came, by the relay's clock. */
  readonly firstByteAt: number
  /** False when the upstream broke off after its first byte. */
  readonly complete: boolean
}

/**
 * Why `forward` could not deliver a response head. When `retryable` is true nothing reached the client and the request
 * can be sent again: its body was not consumed, or was kept by `readBody`.
 */
export class ForwardError extends Error {
  override readonly name = 'ForwardError'
  readonly phase: 'connect' | 'first-byte' | 'bad-response'
  readonly retryable: boolean

  constructor(phase: ForwardError['phase'], retryable: boolean, message: string, options?: ErrorOptions) {
    super(message, options)
    this.phase = phase
    this.retryable = retryable
  }
}
