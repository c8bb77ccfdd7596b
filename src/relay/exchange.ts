import type { HeaderField } from './http/header-field.ts'
import type { HeaderList } from './http/header-list.ts'

/**
 * Called once when something ended: with nothing if it went well, else with the reason. It may be called before the
 * function it was passed to returns: what need not wait is done at once, without a promise or a turn of the event loop.
 */
export type Done = (failure?: unknown) => void

/** Answers requests. If it fails without an answer, the server sends an error and closes the connection. */
export type Handler = (exchange: Exchange, done: Done) => void

/**
 * The door of the relay: one request as a handler sees it, and what it can do with it. Each gets exactly one answer.
 */
export interface Exchange {
  readonly head: RequestHead
  readonly client: ClientFacts
  /** Aborted if the client leaves or the server stops. Everything done for the request takes this signal. */
  readonly signal: AbortSignal
  /** True once the response head was handed to the socket: then no other answer is possible. */
  readonly responseStarted: boolean
  /** Whether the whole body is here, as in most requests: then reading it does not wait. */
  readonly bodyArrived: boolean
  /**
   * Reads the whole body and keeps it for `forward`; `look` sees each piece and stops it by throwing. Fails with
   * `body_too_large` beyond the limit, or with what `look` throws; the connection then ends with the answer.
   */
  readBody(limitBytes: number, look: (piece: Buffer) => void, done: Done): void
  /** The same until `enough` returns true. What was read is kept for `forward`, and the rest streams. */
  readBodyUntil(limitBytes: number, enough: (piece: Buffer) => boolean, done: Done): void
  /** The whole body in pieces, once it was read. */
  readonly keptBody: readonly Buffer[]
  /** The whole body as one buffer. */
  joinedBody(): Buffer
  /** Makes reading the body fail with this error, unless it has fully arrived. The connection ends with the answer. */
  refuseBody(error: Error): void
  /** Sends a whole answer. */
  respond(answer: Answer, done: Done): void
  /** Sends the head and leaves the body open (chunked, or until the close for HTTP/1.0). */
  startResponse(status: number, headers: HeaderPairs): ResponseStream
  /** Sends the request to an upstream and streams the response back, with backpressure both ways. */
  forward(upstream: Upstream, options: ForwardOptions, end: ForwardEnd): void
}

/** Called when forwarding ended: one of these, once, perhaps before `forward` returns. */
export interface ForwardEnd {
  onDelivered(result: ForwardResult): void
  /** A ForwardError if no response arrived, `client_gone` if the client left, or `stopping`. */
  onNotDelivered(error: Error): void
}

export interface RequestHead {
  readonly method: string
  /** The request's path and query, as received. */
  readonly target: string
  readonly path: string
  /** Without the question mark; empty if there is none. */
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
  /** Replace fields of the same name. */
  readonly set: readonly HeaderField[]
  /**
   * Names to remove, in lower case. Lists are compared by identity: reuse one list for many requests, or every head is
   * assembled anew.
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
  /** The path and query for the upstream, instead of the client's. */
  readonly target?: string
  /** A whole body to send instead of the client's, for a request that has one. */
  readonly body?: readonly Buffer[] | undefined
  /** Changes to the request's fields. */
  readonly requestHeaders?: HeaderChanges
  /** Fields to set on the response, replacing the upstream's. */
  readonly responseHeaders?: readonly HeaderField[]
  readonly connectTimeoutMs?: number
  /** How long the upstream may take to its first byte. */
  readonly firstByteTimeoutMs?: number
  /**
   * A response begun with `startResponse`, or a handler's own stream in front of it. The upstream's body goes there and
   * its end ends it; its head is only reported.
   */
  readonly into?: ResponseStream | undefined
  /**
   * Sees the response head before the client gets any of it. If it throws, the response is dropped and `forward` fails
   * with that error: another answer or upstream is still possible.
   */
  readonly onResponseHead?: (head: ResponseHead, firstByteAt: number) => void
  /** Sees every piece of the upstream's body. */
  readonly onResponsePiece?: ((piece: Buffer) => void) | undefined
  /**
   * Called if the upstream broke off after its first byte. The returned text is appended and the response ended
   * properly; with `undefined`, or a fixed length, the client's connection is cut so that the loss is visible.
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
  /** When the upstream's first byte came, by the relay's clock. */
  readonly firstByteAt: number
  /** False if the upstream broke off after its first byte. */
  readonly complete: boolean
}

/**
 * Why `forward` got no response head. If `retryable`, nothing reached the client and the request can be sent again: its
 * body was not consumed, or was kept by `readBody`.
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
