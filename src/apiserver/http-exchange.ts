import type { IncomingMessage, ServerResponse } from 'node:http'
import { StatusError } from '../resources/status-error.ts'
import { isDeeperThan } from './json-value.ts'
import { protobufType, readProtobuf } from './protobuf-body.ts'

export interface ExchangeLimits {
  readonly bodyBytes: number
  readonly jsonDepth: number
  /** How long a client may leave us with bytes it does not take. */
  readonly drainMs: number
}

/** One request and its answer, with the limits of this server. An answer is given once. */
export class HttpExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly #limits: ExchangeLimits
  readonly #warnings: string[] = []
  readonly #gone = new AbortController()

  constructor(request: IncomingMessage, response: ServerResponse, limits: ExchangeLimits) {
    this.request = request
    this.response = response
    this.#limits = limits
    response.once('close', () => this.#gone.abort(new Error('the connection was closed')))
  }

  /** Aborted when the client has left or the answer is complete. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  get mediaType(): string {
    return (this.request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  }

  /** `Warning: 299`, which kubectl prints. Bounded: a hostile object must not make the head too large to send. */
  warn(warning: string): void {
    if (this.#warnings.length < 32) this.#warnings.push(warning.slice(0, 256))
  }

  /** The body as the object it holds; `undefined` when there is none. Refuses by name what is neither JSON nor known protobuf. */
  async readObject(): Promise<unknown> {
    const { mediaType } = this
    if (mediaType === protobufType) {
      const bytes = await this.#readBody()
      return bytes.length === 0 ? undefined : readProtobuf(bytes)
    }
    if (mediaType === 'application/json' || mediaType === '') return this.readJson()
    const message = 'the body of the request was in an unknown format - accepted media types include: application/json'
    throw new StatusError('UnsupportedMediaType', message)
  }

  /** The body as JSON, whatever it is called; `undefined` when there is none. */
  async readJson(): Promise<unknown> {
    const bytes = await this.#readBody()
    if (bytes.length === 0) return undefined
    let value: unknown
    try {
      value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    } catch (error) {
      // The parser quotes the text it stumbled over, which may be part of a Secret: only say where.
      const where = /at position \d+/.exec(error instanceof Error ? error.message : '')?.[0]
      throw new StatusError(
        'BadRequest',
        `the body is not valid JSON${where ? ` (${where})` : ''}`,
        {},
        { cause: error },
      )
    }
    if (isDeeperThan(value, this.#limits.jsonDepth)) {
      throw new StatusError('BadRequest', `the body is nested deeper than ${this.#limits.jsonDepth} levels`)
    }
    return value
  }

  async #readBody(): Promise<Buffer> {
    const { bodyBytes } = this.#limits
    const tooLarge = () => new StatusError('RequestEntityTooLarge', `Request entity too large: limit is ${bodyBytes}`)
    if (Number(this.request.headers['content-length'] ?? 0) > bodyBytes) throw tooLarge()
    if (this.request.headers['content-encoding'] !== undefined) {
      throw new StatusError('UnsupportedMediaType', 'encoded request bodies are not supported')
    }
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of this.request) {
      if (!Buffer.isBuffer(chunk)) continue
      size += chunk.length
      if (size > bodyBytes) throw tooLarge()
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }

  sendJson(code: number, value: unknown, contentType = 'application/json'): void {
    this.#send(code, contentType, `${JSON.stringify(value)}\n`)
  }

  sendText(code: number, text: string, contentType = 'text/plain; charset=utf-8'): void {
    this.#send(code, contentType, text)
  }

  /** After the first byte there is no way to say more than by breaking off. */
  sendError(error: StatusError): void {
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

  #send(code: number, contentType: string, text: string): void {
    const body = Buffer.from(text)
    this.#head(code, { 'Content-Type': contentType, 'Content-Length': body.length })
    this.response.end(this.request.method === 'HEAD' ? undefined : body)
  }

  beginStream(contentType: string): void {
    this.#head(200, { 'Content-Type': contentType })
    this.response.flushHeaders()
  }

  #head(code: number, headers: Record<string, string | number>): void {
    const warning = this.#warnings.map(
      (text) => `299 - "${text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/(["\\])/g, '\\$1')}"`,
    )
    const fixed = { 'Cache-Control': 'no-cache, private', 'X-Content-Type-Options': 'nosniff' }
    this.response.writeHead(code, { ...fixed, ...headers, ...(warning.length > 0 && { Warning: warning }) })
  }

  /** Writes and waits until the client has taken it. `false`: the client has left, or takes nothing any more. */
  async write(chunk: string | Buffer): Promise<boolean> {
    if (this.#gone.signal.aborted) return false
    if (this.response.write(chunk)) return true
    return new Promise((resolve) => {
      const finish = (taken: boolean) => {
        clearTimeout(overdue)
        this.response.off('drain', drained)
        this.#gone.signal.removeEventListener('abort', left)
        resolve(taken)
      }
      const drained = () => finish(true)
      const left = () => finish(false)
      const overdue = setTimeout(() => {
        this.response.destroy()
        finish(false)
      }, this.#limits.drainMs)
      this.response.once('drain', drained)
      this.#gone.signal.addEventListener('abort', left, { once: true })
    })
  }

  endStream(): void {
    this.response.end()
  }
}
