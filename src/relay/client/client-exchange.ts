import type { Socket } from 'node:net'
import type { Clock } from '../../foundation/clock.ts'
import { asError, SluiceError } from '../../foundation/errors.ts'
import type {
  Answer,
  ClientFacts,
  Done,
  Exchange,
  ForwardEnd,
  ForwardOptions,
  HeaderPairs,
  RequestHead,
  ResponseStream,
  Upstream,
} from '../exchange.ts'
import { type BodyDecoder, ChunkedDecoder, LengthDecoder, emptyBody } from '../http/body-decoder.ts'
import type { HttpVersion, MessageFacts } from '../http/message-facts.ts'
import type { ParsedRequest } from '../http/request-head.ts'
import type { SentHeads } from '../http/sent-heads.ts'
import type { RelayLimits } from '../limits.ts'
import type { OutputBatch } from '../socket/socket-output.ts'
import type { AbortListener, ForwardSide } from '../upstream/forward-side.ts'
import { forward } from '../upstream/forwarding.ts'
import { tunnel } from '../upstream/tunnel.ts'
import type { UpstreamPool } from '../upstream/upstream-pool.ts'
import { type BodySource, RequestBody } from './request-body.ts'
import { answerFields, type ResponseContext, ResponseWriter, statusLine } from './response-writer.ts'

const noPieces: readonly Buffer[] = []
const noListeners: readonly AbortListener[] = []

/** What an exchange needs of its connection. */
export interface ClientLink {
  readonly client: ClientFacts
  readonly out: OutputBatch
  readonly input: Pick<BodySource, 'pause' | 'resume'> & { bodyWanted(): void }
  /** Whether the connection itself can serve another request. */
  mayKeep(): boolean
  /** Resolves when the client has taken what is queued; rejects if it leaves first. */
  whenDrained(done: Done): void
  cut(): void
  /** Gives the socket away, with input that arrived but belongs to no request. */
  detach(): { socket: Socket; backlog: Buffer[] }
}

export interface ExchangeTools {
  readonly clock: Clock
  readonly limits: RelayLimits
  readonly pool: UpstreamPool
}

/** One request and its one answer, on a client's connection. */
export class ClientExchange implements Exchange, ForwardSide, BodySource, ResponseContext {
  readonly head: RequestHead
  readonly facts: MessageFacts
  readonly sentHeads: SentHeads
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
  /** Whether the body is being read and kept. */
  holdsBody = false

  constructor(request: ParsedRequest, link: ClientLink, tools: ExchangeTools) {
    this.head = request.head
    this.facts = request.facts
    this.sentHeads = request.sentHeads
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

  get bodyArrived(): boolean {
    return !this.body.declared || this.body.isHere
  }

  readBody(limitBytes: number, look: (piece: Buffer) => void, done: Done): void {
    if (this.#takesArrived()) done(this.body.showKept(limitBytes, look))
    else this.#holdDuring(this.body.readAll(limitBytes, look), done)
  }

  readBodyUntil(limitBytes: number, enough: (piece: Buffer) => boolean, done: Done): void {
    if (this.#takesArrived()) done(this.body.showKept(limitBytes, enough))
    else this.#holdDuring(this.body.readUntil(limitBytes, enough), done)
  }

  #takesArrived(): boolean {
    this.bodyWasRead = true
    return !this.body.declared || this.body.keepIfArrived() !== undefined
  }

  /** This waits, with a promise: the rest of the body is still on its way. */
  #holdDuring(reading: Promise<void>, done: Done): void {
    this.holdsBody = true
    const end: Done = (failure) => {
      this.holdsBody = false
      done(failure)
    }
    reading.then(() => end(), end)
  }

  get keptBody(): readonly Buffer[] {
    return this.body.kept ?? noPieces
  }

  joinedBody(): Buffer {
    return this.body.joined()
  }

  refuseBody(error: Error): void {
    this.body.fail(error)
  }

  respond(answer: Answer, done: Done): void {
    try {
      this.#assertClient()
      this.writer.whole(answer)
    } catch (error) {
      return done(error)
    }
    if (this.writer.flush()) done()
    else this.#link.whenDrained(done)
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
        if (!this.writer.flush()) await this.#drained()
      },
      end: async () => {
        if (this.writer.finished) return
        this.#assertClient()
        if (!this.writer.end()) this.#link.cut()
        if (!this.writer.flush()) await this.#drained()
      },
    }
  }

  #drained(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#link.whenDrained((failure) => (failure === undefined ? resolve() : reject(asError(failure))))
    })
  }

  forward(upstream: Upstream, options: ForwardOptions, end: ForwardEnd): void {
    if (this.#gone) end.onNotDelivered(new SluiceError('client_gone'))
    else forward(this, upstream, options, end)
  }

  onAbort(listener: AbortListener): void {
    const reason = this.#abortedBecause
    if (reason) queueMicrotask(() => listener.onAborted(reason))
    else if (this.#abortListener) this.#moreAbortListeners = [...this.#moreAbortListeners, listener]
    else this.#abortListener = listener
  }

  forgetAbort(listener: AbortListener): void {
    // Almost always there is only one.
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

  whenDrained(done: Done): void {
    this.#link.whenDrained(done)
  }

  cut(): void {
    this.#link.cut()
  }

  async tunnelTo(upstream: Socket, leftover: Buffer) {
    const { socket, backlog } = this.#link.detach()
    const listener: AbortListener = {
      onAborted: () => {
        // If the client ended its side, the tunnel still delivers what it sent last.
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

  /** Ends the exchange: the client left (`gone`), or the server stops. */
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

  /** A small unwanted body is read and dropped; after a large one the connection ends. */
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
