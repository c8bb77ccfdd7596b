import type { Socket } from 'node:net'
import type { Clock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import { type BodyDecoder, ChunkedDecoder, LengthDecoder, emptyBody } from './body-decoder.ts'
import type {
  Answer,
  ClientFacts,
  Exchange,
  ForwardEnd,
  ForwardOptions,
  ForwardResult,
  HeaderPairs,
  RequestHead,
  ResponseStream,
  Upstream,
} from './exchange.ts'
import { forwardTo } from './forward.ts'
import type { AbortListener, ForwardSide } from './forward-side.ts'
import type { RelayLimits } from './limits.ts'
import type { HttpVersion, MessageFacts } from './message-facts.ts'
import type { OnwardHeads } from './onward-heads.ts'
import type { OutputBatch } from './output-batch.ts'
import { type BodySource, RequestBody, withinLimit } from './request-body.ts'
import type { ParsedRequest } from './request-head.ts'
import { answerFields, statusLine } from './response-fields.ts'
import { isBodiless } from './response-head.ts'
import { type ResponseContext, ResponseWriter } from './response-writer.ts'
import { tunnel } from './tunnel.ts'
import type { UpstreamPool } from './upstream-pool.ts'

const noBytes = Buffer.alloc(0)
const noPieces: readonly Buffer[] = []
const noListeners: readonly AbortListener[] = []

/** What an exchange asks of the connection it lives on. */
export interface ClientLink {
  readonly client: ClientFacts
  readonly out: OutputBatch
  readonly input: Pick<BodySource, 'pause' | 'resume'> & { bodyWanted(): void }
  /** Whether the connection may serve another request, as far as it knows itself. */
  mayKeep(): boolean
  drained(): Promise<void>
  cut(): void
  /** Lets go of the socket; input that arrived but belongs to no request comes along. */
  detach(): { socket: Socket; backlog: Buffer[] }
}

export interface ExchangeTools {
  readonly clock: Clock
  readonly limits: RelayLimits
  readonly pool: UpstreamPool
}

/** One request and its one answer on a client's connection. */
export class ClientExchange implements Exchange, ForwardSide, BodySource, ResponseContext {
  readonly head: RequestHead
  readonly facts: MessageFacts
  readonly onward: OnwardHeads
  readonly body: RequestBody
  readonly writer: ResponseWriter
  readonly clock: Clock
  readonly limits: RelayLimits
  readonly pool: UpstreamPool
  readonly #link: ClientLink
  readonly #expectsContinue: boolean
  #abortListener: AbortListener | undefined
  #moreAbortListeners: readonly AbortListener[] = noListeners
  #controller: AbortController | undefined
  #abortedBecause: Error | undefined
  #bodyWanted = false
  #gone = false
  bodyWasRead = false
  /** Somebody waits for the body and keeps it meanwhile. */
  holdsBody = false

  constructor(request: ParsedRequest, link: ClientLink, tools: ExchangeTools) {
    this.head = request.head
    this.facts = request.facts
    this.onward = request.onward
    this.clock = tools.clock
    this.limits = tools.limits
    this.pool = tools.pool
    this.#link = link
    this.#expectsContinue = request.expectsContinue
    const declared = request.facts.chunked || request.facts.contentLength !== undefined
    this.body = new RequestBody(decoderOf(request.facts, tools.limits), declared, this)
    this.writer = new ResponseWriter(link.out, this)
  }

  get method(): string {
    return this.head.method
  }

  get version(): HttpVersion {
    return this.head.version
  }

  get client(): ClientFacts {
    return this.#link.client
  }

  get gone(): boolean {
    return this.#gone
  }

  get responseStarted(): boolean {
    return this.writer.started
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#abortedBecause) this.#controller.abort(this.#abortedBecause)
    }
    return this.#controller.signal
  }

  arrivedBody(limitBytes: number): Buffer | undefined {
    if (this.body.declared && !this.body.keepIfArrived()) return undefined
    this.bodyWasRead = true
    return withinLimit(this.body.declared ? this.body.joined() : noBytes, limitBytes)
  }

  async readBody(limitBytes: number): Promise<Buffer> {
    await this.readWholeBody(limitBytes, () => {})
    return this.body.joined()
  }

  readWholeBody(limitBytes: number, look: (piece: Buffer) => void): Promise<void> {
    return this.#holdWhile((body) => body.readAll(limitBytes, look))
  }

  readBodyUntil(limitBytes: number, enough: (piece: Buffer) => boolean): Promise<void> {
    return this.#holdWhile((body) => body.readUntil(limitBytes, enough))
  }

  async #holdWhile(read: (body: RequestBody) => Promise<void>): Promise<void> {
    this.bodyWasRead = true
    if (!this.body.declared) return
    this.body.keepIfArrived()
    this.holdsBody = true
    try {
      await read(this.body)
    } finally {
      this.holdsBody = false
    }
  }

  get keptBody(): readonly Buffer[] {
    return this.body.kept ?? noPieces
  }

  refuseBody(error: Error): void {
    this.body.fail(error)
  }

  async respond(answer: Answer): Promise<void> {
    this.#assertClient()
    const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : (answer.body ?? noBytes)
    this.writer.begin(
      answer.status,
      answerFields(answer.headers ?? []),
      isBodiless(answer.status) ? undefined : body.length,
    )
    if (body.length > 0) this.writer.pieces([body])
    this.writer.end()
    if (!this.writer.flush()) await this.#link.drained()
  }

  startResponse(status: number, headers: HeaderPairs): ResponseStream {
    this.#assertClient()
    this.writer.begin(status, answerFields(headers), undefined)
    this.writer.flush()
    return {
      write: async (chunk) => {
        this.#assertClient()
        if (this.writer.finished) throw new Error('the response has already ended')
        this.writer.pieces([typeof chunk === 'string' ? Buffer.from(chunk) : chunk])
        if (!this.writer.flush()) await this.#link.drained()
      },
      end: async () => {
        if (this.writer.finished) return
        this.#assertClient()
        if (!this.writer.end()) this.#link.cut()
        if (!this.writer.flush()) await this.#link.drained()
      },
    }
  }

  forward(upstream: Upstream, options: ForwardOptions = {}): Promise<ForwardResult> {
    return new Promise((resolve, reject) => this.forwardTo(upstream, options, { delivered: resolve, failed: reject }))
  }

  forwardTo(upstream: Upstream, options: ForwardOptions, end: ForwardEnd): void {
    if (this.#gone) end.failed(new SluiceError('client_gone'))
    else forwardTo(this, upstream, options, end)
  }

  onAbort(listener: AbortListener): void {
    const reason = this.#abortedBecause
    if (reason) queueMicrotask(() => listener.onAborted(reason))
    else if (this.#abortListener) this.#moreAbortListeners = [...this.#moreAbortListeners, listener]
    else this.#abortListener = listener
  }

  forgetAbort(listener: AbortListener): void {
    // Almost always it is the only one.
    if (this.#abortListener === listener) this.#abortListener = undefined
    else this.#moreAbortListeners = this.#moreAbortListeners.filter((other) => other !== listener)
  }

  pause(): void {
    this.#link.input.pause()
  }

  resume(): void {
    this.#link.input.resume()
  }

  wanted(): void {
    this.#onBodyWanted()
  }

  drained(): Promise<void> {
    return this.#link.drained()
  }

  cut(): void {
    this.#link.cut()
  }

  async tunnelTo(upstream: Socket, leftover: Buffer) {
    const { socket, backlog } = this.#link.detach()
    const listener: AbortListener = {
      onAborted: () => {
        // A client that closed is the tunnel's own business: what it said last is still on its way up.
        if (this.#gone) return
        socket.destroy()
        upstream.destroy()
      },
    }
    this.onAbort(listener)
    try {
      return await tunnel(socket, upstream, {
        clock: this.clock,
        halfOpenMs: this.limits.tunnelHalfOpenMs,
        idleMs: this.limits.tunnelIdleMs,
        fromClient: backlog,
        fromUpstream: leftover,
      })
    } finally {
      this.forgetAbort(listener)
    }
  }

  /** The client left (`gone`), or the server stops and wants this to end. */
  abort(reason: Error, gone: boolean): void {
    if (gone) {
      this.#gone = true
      this.body.fail(reason)
    }
    if (this.#abortedBecause) return
    this.#abortedBecause = reason
    const first = this.#abortListener
    const others = this.#moreAbortListeners
    this.#abortListener = undefined
    this.#moreAbortListeners = noListeners
    first?.onAborted(reason)
    for (const listener of others) listener.onAborted(reason)
    this.#controller?.abort(reason)
  }

  #onBodyWanted(): void {
    if (this.#bodyWanted) return
    this.#bodyWanted = true
    this.#link.input.bodyWanted()
    if (!this.#expectsContinue || this.writer.started) return
    this.writer.informational(statusLine(100))
    this.writer.flush()
  }

  /** A body that nobody wants is drained when it is small; otherwise the connection has to end with the answer. */
  keepsConnection(): boolean {
    if (!this.facts.persistent || this.body.failed || this.#abortedBecause || !this.#link.mayKeep()) return false
    if (this.body.arrived || this.#bodyWanted) return true
    return !this.#expectsContinue && this.body.knownRemaining <= this.limits.drainBytes
  }

  #assertClient(): void {
    if (this.#gone) throw new SluiceError('client_gone')
  }
}

function decoderOf(facts: MessageFacts, limits: RelayLimits): BodyDecoder {
  if (facts.chunked) return new ChunkedDecoder(limits)
  return facts.contentLength === undefined ? emptyBody : new LengthDecoder(facts.contentLength)
}
