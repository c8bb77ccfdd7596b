import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { StatusError } from '../../resources/status-error.ts'
import type { EncodedObjects, EventType } from '../answers/encoded-objects.ts'
import { type ShownList, pieceBytes, sendList } from '../answers/list-answer.ts'
import type { AuditedRequest } from '../audit/audited-request.ts'
import { type BodyLimits, RequestBody } from '../bodies/request-body.ts'
import type { FlowTicket } from '../flow-control/flow-control.ts'
import type { ConnectionUpgrade } from '../streams/connection-upgrade.ts'

export interface ExchangeLimits extends BodyLimits {
  /** How long a client may leave bytes unread before it is given up. */
  readonly drainMs: number
}

/** Answers up to this size leave in one piece. */
const onePieceBytes = 1024 * 1024
/** Answers up to this size fit into the system's buffers, whether the client reads them or not. */
const smallBytes = 64 * 1024

export function internalError(): StatusError {
  return new StatusError('InternalError', 'Internal error occurred; the server log has the details')
}

/** One request and its answer, within the limits of this server. It is answered once. */
export class HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly body: RequestBody
  /** Set when the client asks to switch the connection from HTTP to another protocol. */
  readonly upgrade: ConnectionUpgrade | undefined
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal
  readonly #limits: ExchangeLimits
  readonly #encoded: EncodedObjects
  readonly #warnings: string[] = []
  /** Its share of what is bounded, once it is known who asks. */
  ticket: FlowTicket | undefined
  /** Set when a line about it goes into the audit log. */
  audited: AuditedRequest | undefined
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
   * Aborted when the client has left, the answer is complete or the server stops. Created on demand, because most
   * answers are immediate.
   */
  get signal(): AbortSignal {
    return this.#controller().signal
  }

  get isGone(): boolean {
    return this.response.destroyed || this.#gone?.signal.aborted === true
  }

  /** `undefined` when nothing was answered: the client had left. */
  get answeredCode(): number | undefined {
    return this.response.headersSent || this.upgrade?.accepted ? this.response.statusCode : undefined
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

  /**
   * Adds a `Warning: 299` header, which kubectl prints; once, however often a write is tried. Bounded, so that no
   * object can make the head too large to send.
   */
  warn(warning: string): void {
    const text = warning.slice(0, 256)
    if (this.#warnings.length < 32 && !this.#warnings.includes(text)) this.#warnings.push(text)
  }

  sendJson(code: number, value: unknown, contentType = 'application/json'): void {
    this.#send(code, contentType, `${JSON.stringify(value)}\n`)
  }

  /** Sends a stored object; its bytes are shared by everybody who asks for it. */
  sendObject(code: number, shown: unknown): void {
    this.#sendBytes(code, 'application/json', this.#encoded.body(shown))
  }

  /** Sends a list of any length. Resolves when all of it is on its way. */
  sendList(code: number, list: ShownList): Promise<void> {
    return sendList({ exchange: this, encoded: this.#encoded, code, list, turns: this.ticket })
  }

  /** Sends what is encoded already, in parts. */
  sendParts(code: number, parts: readonly Buffer[]): void {
    this.#sendBytes(code, 'application/json', ...parts)
  }

  /** Sends what is JSON already, as text, so that it leaves in one piece with the head. */
  sendEncoded(code: number, json: string): void {
    const text = `${json}\n`
    this.#head(code, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
    this.response.end(text)
  }

  /** A line of a watch, whose bytes are shared in the same way. */
  eventLine(type: EventType, shown: unknown, json?: string): string | Buffer {
    if (typeof shown === 'object' && shown !== null) return this.#encoded.line(type, shown, json)
    return `${JSON.stringify({ type, object: shown })}\n`
  }

  sendText(code: number, text: string, contentType = 'text/plain; charset=utf-8'): void {
    this.#send(code, contentType, text)
  }

  /** Sends a document with an ETag, or 304 when the client has it already. */
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

  /** Once the first byte is out, all that can be done is to break off. */
  sendError(error: StatusError): void {
    this.audited?.refused(error.reason)
    if (this.upgrade?.accepted) return this.upgrade.destroy()
    if (this.response.headersSent) {
      this.response.destroy()
      return
    }
    const { retryAfterSeconds } = error.details
    if (retryAfterSeconds !== undefined) this.response.setHeader('Retry-After', retryAfterSeconds)
    if (error.reason === 'Unauthorized') this.response.setHeader('WWW-Authenticate', 'Bearer')
    // The rest of a refused body is not read: the connection ends with the answer.
    if (!this.request.complete) this.response.setHeader('Connection', 'close')
    this.sendJson(error.code, error.toStatus())
  }

  /** For when even the error could not be sent: without its message, headers and warnings, or by breaking off. */
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
   * Resolves when the client has read what was sent, or never will: until then it takes up memory. `undefined`: it is
   * too little to count.
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

  /** Begins an answer of unknown length: `write` each piece, then `endStream`. */
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

  /** Switches to another protocol. From here on the connection belongs to the caller. */
  switchTo(headers: Readonly<Record<string, string>>): Duplex {
    if (!this.upgrade) throw new StatusError('BadRequest', 'Upgrade request required')
    this.ticket?.leave()
    const socket = this.upgrade.accept(headers)
    this.audited?.started(this.response.statusCode)
    return socket
  }

  /** Writes the head in one call: in Node, setting headers one by one costs several times as much. */
  #head(code: number, headers: OutgoingHttpHeaders): void {
    headers['Cache-Control'] = 'no-cache, private'
    headers['X-Content-Type-Options'] = 'nosniff'
    if (this.audited) headers['Audit-Id'] = this.audited.id
    if (this.#warnings.length > 0) {
      headers['Warning'] = this.#warnings.map(
        (text) => `299 - "${text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/(["\\])/g, '\\$1')}"`,
      )
    }
    this.response.writeHead(code, headers)
  }

  /** Writes and waits until the client has read it. `false`: the client has left or reads nothing. */
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
      // A client that reads nothing loses its place; it can ask again for what it missed.
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
