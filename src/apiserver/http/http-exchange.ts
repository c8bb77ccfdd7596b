import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { StatusError } from '../../resources/status-error.ts'
import type { EncodedObjects, EventType } from '../answers/encoded-objects.ts'
import { type ShownList, pieceBytes, sendList } from '../answers/list-answer.ts'
import { type BodyLimits, RequestBody } from '../bodies/request-body.ts'
import type { FlowTicket } from '../flow-control/flow-control.ts'
import type { ConnectionUpgrade } from '../streams/connection-upgrade.ts'

export interface ExchangeLimits extends BodyLimits {
  /** How long a client may leave us with bytes it does not take. */
  readonly drainMs: number
}

/** Up to this an answer leaves in one piece. */
const onePieceBytes = 1024 * 1024
/** Up to this the system's own buffers take an answer, whether its client does or not. */
const smallBytes = 64 * 1024

export function internalError(): StatusError {
  return new StatusError('InternalError', 'Internal error occurred; the server log has the details')
}

/** One request and its answer, with the limits of this server. An answer is given once. */
export class HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** What the client sends. */
  readonly body: RequestBody
  /** There when the client wants to use the connection for something else than HTTP. */
  readonly upgrade: ConnectionUpgrade | undefined
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal
  readonly #limits: ExchangeLimits
  readonly #encoded: EncodedObjects
  readonly #warnings: string[] = []
  /** What it holds of what is bounded, once it is known who asks. */
  ticket: FlowTicket | undefined
  #taken: Promise<unknown> | undefined
  #gone: AbortController | undefined

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    options: {
      readonly limits: ExchangeLimits
      readonly encoded: EncodedObjects
      /** Aborted when the server stops. */
      readonly stopping: AbortSignal
      readonly upgrade?: ConnectionUpgrade | undefined
    },
  ) {
    this.request = request
    this.response = response
    this.body = new RequestBody(request, options.limits, {
      book: (bytes) => this.ticket?.bookBytes(bytes),
      turns: () => this.ticket,
      signal: () => this.signal,
    })
    this.#limits = options.limits
    this.#encoded = options.encoded
    this.stopping = options.stopping
    this.upgrade = options.upgrade
  }

  /**
   * Aborted when the client has left, the answer is complete or the server stops. Made when it is asked for:
   * most answers are given at once.
   */
  get signal(): AbortSignal {
    return this.#controller().signal
  }

  get isGone(): boolean {
    return this.response.destroyed || this.#gone?.signal.aborted === true
  }

  #controller(): AbortController {
    if (this.#gone) return this.#gone
    const gone = new AbortController()
    this.#gone = gone
    const stop = () => gone.abort(this.stopping.reason)
    if (this.stopping.aborted) stop()
    else if (this.response.destroyed) gone.abort(new Error('the connection was closed'))
    this.stopping.addEventListener('abort', stop)
    this.response.once('close', () => {
      this.stopping.removeEventListener('abort', stop)
      gone.abort(new Error('the connection was closed'))
    })
    return gone
  }

  /** `Warning: 299`, which kubectl prints. Bounded: a hostile object must not make the head too large to send. */
  warn(warning: string): void {
    if (this.#warnings.length < 32) this.#warnings.push(warning.slice(0, 256))
  }

  sendJson(code: number, value: unknown, contentType = 'application/json'): void {
    this.#send(code, contentType, `${JSON.stringify(value)}\n`)
  }

  /** An object of the store: its bytes are shared among all who ask for it. */
  sendObject(code: number, shown: unknown): void {
    this.#sendBytes(code, 'application/json', this.#encoded.body(shown))
  }

  /** A list, as long as it need be. Resolves when it is on its way. */
  sendList(code: number, list: ShownList): Promise<void> {
    return sendList({ exchange: this, encoded: this.#encoded, code, list, turns: this.ticket })
  }

  /** What is encoded already, in parts. */
  sendParts(code: number, parts: readonly Buffer[]): void {
    this.#sendBytes(code, 'application/json', ...parts)
  }

  /** What is JSON already. As a text, so that it leaves in one piece with the head. */
  sendEncoded(code: number, json: string): void {
    const text = `${json}\n`
    this.#head(code, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
    this.response.end(text)
  }

  /** A line of a watch, shared in the same way. */
  eventLine(type: EventType, shown: unknown, json?: string): string | Buffer {
    if (typeof shown === 'object' && shown !== null) return this.#encoded.line(type, shown, json)
    return `${JSON.stringify({ type, object: shown })}\n`
  }

  sendText(code: number, text: string, contentType = 'text/plain; charset=utf-8'): void {
    this.#send(code, contentType, text)
  }

  /** What the client may have already: then it is told so, and not sent it again. */
  sendTagged({ type, bytes, etag }: { readonly type: string; readonly bytes: Buffer; readonly etag: string }): void {
    this.response.setHeaders(
      new Map([
        ['ETag', etag],
        ['Vary', 'Accept'],
      ]),
    )
    const held = (this.request.headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
    if (!held.includes(etag) && !held.includes('*')) return this.#sendBytes(200, type, bytes)
    this.#head(304, {})
    this.response.end()
  }

  /** After the first byte there is no way to say more than by breaking off. */
  sendError(error: StatusError): void {
    if (this.upgrade?.accepted) return this.upgrade.destroy()
    if (this.response.headersSent) {
      this.response.destroy()
      return
    }
    const { retryAfterSeconds } = error.details
    if (retryAfterSeconds !== undefined) this.response.setHeader('Retry-After', retryAfterSeconds)
    if (error.reason === 'Unauthorized') this.response.setHeader('WWW-Authenticate', 'Bearer')
    // What is left of a refused body is not read: the connection ends with the answer.
    if (!this.request.complete) this.response.setHeader('Connection', 'close')
    this.sendJson(error.code, error.toStatus())
  }

  /** When even the error could not be told: without anything of it, its headers or its warnings, or by breaking off. */
  sendPlainFailure(): void {
    if (this.upgrade?.accepted) return this.upgrade.destroy()
    if (this.response.headersSent) return void this.response.destroy()
    const failure = internalError()
    const text = `${JSON.stringify(failure.toStatus())}\n`
    try {
      for (const name of this.response.getHeaderNames()) this.response.removeHeader(name)
      const head = {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(text),
        Connection: 'close',
      }
      this.response.writeHead(failure.code, head)
      this.response.end(text)
    } catch {
      this.response.destroy()
    }
  }

  #send(code: number, contentType: string, text: string): void {
    this.#sendBytes(code, contentType, Buffer.from(text))
  }

  #sendBytes(code: number, contentType: string, ...parts: readonly Buffer[]): void {
    const length = parts.reduce((sum, part) => sum + part.length, 0)
    if (length > smallBytes) this.ticket?.bookBytes(Math.min(length, onePieceBytes))
    this.#head(code, { 'Content-Type': contentType, 'Content-Length': length })
    if (this.request.method === 'HEAD') return void this.response.end()
    if (length > onePieceBytes) {
      this.#taken = this.#sendPieces(parts)
      return
    }
    for (let index = 0; index < parts.length - 1; index += 1) this.response.write(parts[index])
    this.response.end(parts.at(-1))
    if (length > smallBytes) this.#taken = this.#untilTaken()
  }

  /**
   * Resolves when the client has what was sent, or will not have it: until then it costs memory.
   * `undefined`: it is too little to count.
   */
  get taken(): Promise<unknown> | undefined {
    return this.#taken
  }

  async #sendPieces(parts: readonly Buffer[]): Promise<void> {
    for (const part of parts) {
      for (let at = 0; at < part.length; at += pieceBytes) {
        if (!(await this.write(part.subarray(at, at + pieceBytes)))) return
      }
    }
    this.response.end()
  }

  #untilTaken(): Promise<void> {
    const { response } = this
    return new Promise((resolve) => {
      const overdue = setTimeout(() => response.destroy(), this.#limits.drainMs)
      const over = () => {
        clearTimeout(overdue)
        resolve()
      }
      if (response.writableFinished || response.destroyed) return over()
      response.once('finish', over)
      response.once('close', over)
    })
  }

  /** An answer in pieces of which nobody knows yet how many there are: `write` each, then `endStream`. */
  beginPieces(code: number): void {
    this.ticket?.bookBytes(pieceBytes)
    this.#head(code, { 'Content-Type': 'application/json' })
  }

  sendNothing(): void {
    this.#head(204, {})
    this.response.end()
  }

  beginStream(contentType: string): void {
    this.ticket?.leave()
    this.#head(200, { 'Content-Type': contentType })
    this.response.flushHeaders()
  }

  /** Leaves HTTP behind. From here on the connection belongs to the caller. */
  switchTo(headers: Readonly<Record<string, string>>): Duplex {
    if (!this.upgrade) throw new StatusError('BadRequest', 'Upgrade request required')
    this.ticket?.leave()
    return this.upgrade.accept(headers)
  }

  /** In one piece: headers that are set one by one cost Node several times as much. */
  #head(code: number, headers: OutgoingHttpHeaders): void {
    headers['Cache-Control'] = 'no-cache, private'
    headers['X-Content-Type-Options'] = 'nosniff'
    if (this.#warnings.length > 0) {
      headers['Warning'] = this.#warnings.map(
        (text) => `299 - "${text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/(["\\])/g, '\\$1')}"`,
      )
    }
    this.response.writeHead(code, headers)
  }

  /** Writes and waits until the client has taken it. `false`: the client has left, or takes nothing any more. */
  async write(chunk: string | Buffer): Promise<boolean> {
    const { signal } = this.#controller()
    if (signal.aborted) return false
    if (this.response.write(chunk)) return true
    return new Promise((resolve) => {
      const finish = (taken: boolean) => {
        clearTimeout(overdue)
        this.response.off('drain', drained)
        signal.removeEventListener('abort', left)
        resolve(taken)
      }
      const drained = () => finish(true)
      const left = () => finish(false)
      // A client that takes nothing keeps no place: what it missed it can ask for again.
      const overdue = setTimeout(() => {
        this.response.destroy()
        finish(false)
      }, this.#limits.drainMs)
      this.response.once('drain', drained)
      signal.addEventListener('abort', left, { once: true })
    })
  }

  endStream(): void {
    this.response.end()
  }
}
