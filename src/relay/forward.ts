import { abortReason } from '../foundation/clock.ts'
import { asError, errorMessage } from '../foundation/errors.ts'
import { type ForwardEnd, ForwardError, type ForwardOptions, type ForwardResult, type Upstream } from './exchange.ts'
import { type AttemptEnd, ForwardAttempt } from './forward-attempt.ts'
import {
  noChanges,
  offeredUpgrade,
  onwardUp,
  type OutgoingRequest,
  type RequestFraming,
  writeOutgoingHead,
} from './forward-headers.ts'
import type { ForwardSide } from './forward-side.ts'
import type { HeaderField } from './header-field.ts'
import type { OnwardHead } from './onward-heads.ts'
import type { OutputBatch } from './output-batch.ts'
import type { RequestBody } from './request-body.ts'
import type { CallRequest } from './upstream-call.ts'
import type { UpstreamConnection } from './upstream-connection.ts'

const noPieces: readonly Buffer[] = []

const idempotentMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE', 'PROPFIND', 'REPORT', 'SEARCH'])

/** A request that cannot be sent twice takes only a connection that was in use a moment ago: it is surely still open. */
const freshlyUsedMs = 500

export function forwardTo(side: ForwardSide, upstream: Upstream, options: ForwardOptions, end: ForwardEnd): void {
  try {
    if (side.writer.started && !options.into) throw new Error('the response was already begun')
    if (side.body.consumed) throw new ForwardError('connect', false, 'the request body is already gone')
    new Forwarding(side, upstream, options, end).begin()
  } catch (error) {
    end.failed(asError(error))
  }
}

/** A request on its way, on one connection and, when that one turns out to be closed already, on a new one. */
class Forwarding implements CallRequest, OutgoingRequest, AttemptEnd {
  readonly method: string
  readonly onward: OnwardHead
  readonly set: readonly HeaderField[]
  readonly upstream: Upstream
  readonly framing: RequestFraming
  readonly whole: readonly Buffer[] | undefined
  readonly stream: RequestBody
  readonly upgrade: string | undefined
  readonly firstByteMs: number
  readonly #side: ForwardSide
  readonly #options: ForwardOptions
  readonly #end: ForwardEnd
  readonly #replayable: boolean
  #connection: UpstreamConnection | undefined

  constructor(side: ForwardSide, upstream: Upstream, options: ForwardOptions, end: ForwardEnd) {
    this.#side = side
    this.upstream = upstream
    this.#options = options
    this.#end = end
    const { body, head } = side
    const whole = body.declared ? body.keepIfArrived() : noPieces
    // RFC 9110 9.2.2: what is not idempotent is only repeated by those who know what it does.
    this.#replayable = whole !== undefined && (side.bodyWasRead || idempotentMethods.has(head.method))
    const upgrade = options.into ? undefined : offeredUpgrade(head, side.facts)
    this.method = head.method
    this.onward = onwardUp(side, options)
    this.set = (options.requestHeaders ?? noChanges).set
    this.framing = framingOf(side, whole)
    this.whole = whole
    this.stream = body
    this.upgrade = upgrade
    this.firstByteMs = options.firstByteTimeoutMs ?? side.limits.upstreamFirstByteMs
  }

  begin(): void {
    const maxIdleMs = this.#replayable ? Number.POSITIVE_INFINITY : freshlyUsedMs
    const connection = this.whole && this.#side.pool.take(this.upstream, maxIdleMs)
    if (connection) this.#attempt(connection)
    else this.#open()
  }

  writeHead(out: OutputBatch): void {
    writeOutgoingHead(this, out)
  }

  delivered(result: ForwardResult): void {
    this.#end.delivered(result)
  }

  failed(phase: ForwardError['phase'], stale: boolean, error: Error): void {
    // The upstream closed the connection while it rested: that says nothing about the upstream.
    const rested = this.#connection !== undefined && this.#connection.served > 0
    if (stale && rested && this.#replayable) return this.#open()
    const retryable = !this.#side.body.consumed && !this.#side.gone
    this.#end.failed(new ForwardError(phase, retryable, errorMessage(error), { cause: error }))
  }

  rejected(error: Error): void {
    this.#end.failed(error)
  }

  #open(): void {
    const side = this.#side
    const options = this.#options
    side.pool
      .open(this.upstream, {
        signal: options.signal ? AbortSignal.any([side.signal, options.signal]) : side.signal,
        timeoutMs: options.connectTimeoutMs,
      })
      .then((connection) => this.#attempt(connection))
      .catch((error: unknown) => this.#end.failed(asError(error)))
  }

  #attempt(connection: UpstreamConnection): void {
    const { signal } = this.#options
    if (signal?.aborted) {
      connection.destroy()
      return this.#end.failed(abortReason(signal))
    }
    this.#connection = connection
    new ForwardAttempt(this.#side, this.#options, this).run(connection, this)
  }
}

function framingOf(side: ForwardSide, whole: readonly Buffer[] | undefined): RequestFraming {
  if (!side.body.declared) return 'none'
  if (whole && side.body.trailers.length === 0) return side.body.keptBytes
  return side.facts.contentLength ?? 'chunked'
}
