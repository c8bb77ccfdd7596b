import { abortReason } from '../foundation/clock.ts'
import { errorMessage } from '../foundation/errors.ts'
import { ForwardError, type ForwardOptions, type ForwardResult, type Upstream } from './exchange.ts'
import { ForwardAttempt } from './forward-attempt.ts'
import { type RequestFraming, offeredUpgrade, requestHeadText } from './forward-headers.ts'
import type { ForwardSide } from './forward-side.ts'
import type { UpstreamConnection } from './upstream-connection.ts'

const idempotentMethods = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE', 'PROPFIND', 'REPORT', 'SEARCH'])

/** A request that cannot be sent twice takes only a connection that was in use a moment ago: it is surely still open. */
const freshlyUsedMs = 500

export async function forward(side: ForwardSide, upstream: Upstream, options: ForwardOptions): Promise<ForwardResult> {
  if (side.writer.started && !options.into) throw new Error('the response was already begun')
  if (side.body.consumed) throw new ForwardError('connect', false, 'the request body is already gone')
  const whole = side.body.declared ? side.body.keepIfArrived() : Buffer.alloc(0)
  // RFC 9110 9.2.2: what is not idempotent is only repeated by those who know what it does.
  const replayable = whole !== undefined && (side.bodyWasRead || idempotentMethods.has(side.head.method))
  const upgrade = options.into ? undefined : offeredUpgrade(side.head, side.facts)
  const framing = framingOf(side, whole)
  const headText = requestHeadText({
    head: side.head,
    facts: side.facts,
    clientAddress: side.client.address,
    secure: side.client.secure,
    upstream,
    framing,
    upgrade,
    options,
  })
  const request = {
    method: side.head.method,
    headText,
    framing,
    whole,
    stream: side.body,
    upgrade,
    firstByteMs: options.firstByteTimeoutMs ?? side.limits.upstreamFirstByteMs,
  }
  let connection: UpstreamConnection | undefined
  if (whole) connection = side.pool.take(upstream, replayable ? Number.POSITIVE_INFINITY : freshlyUsedMs)
  for (;;) {
    connection ??= await side.pool.open(upstream, {
      signal: options.signal ? AbortSignal.any([side.signal, options.signal]) : side.signal,
      timeoutMs: options.connectTimeoutMs,
    })
    if (options.signal?.aborted) {
      connection.destroy()
      throw abortReason(options.signal)
    }
    const attempt = new ForwardAttempt(side, options)
    const outcome = await attempt.run(connection, request)
    if (outcome.kind === 'delivered') return outcome.result
    // The upstream closed the connection while it rested: that says nothing about the upstream.
    const rested = connection.served > 0
    connection = undefined
    if (outcome.stale && rested && replayable) continue
    throw new ForwardError(outcome.phase, !side.body.consumed && !side.gone, errorMessage(outcome.error), {
      cause: outcome.error,
    })
  }
}

function framingOf(side: ForwardSide, whole: Buffer | undefined): RequestFraming {
  if (!side.body.declared) return { kind: 'none', length: 0 }
  if (whole && side.body.trailers.length === 0) return { kind: 'length', length: whole.length }
  if (side.facts.contentLength !== undefined) return { kind: 'length', length: side.facts.contentLength }
  return { kind: 'chunked', length: 0 }
}
