import type { Socket } from 'node:net'
import type { Clock } from '../../foundation/clock.ts'
import type { RequestBody } from '../client/request-body.ts'
import type { ResponseWriter } from '../client/response-writer.ts'
import type { ClientFacts, Done, RequestHead } from '../exchange.ts'
import type { MessageFacts } from '../http/message-facts.ts'
import type { SentHeads } from '../http/sent-heads.ts'
import type { RelayLimits } from '../limits.ts'
import type { TunnelResult } from './tunnel.ts'
import type { UpstreamPool } from './upstream-pool.ts'

export interface AbortListener {
  onAborted(reason: Error): void
}

/** What forwarding needs of the client's side of an exchange. */
export interface ForwardSide {
  readonly head: RequestHead
  readonly facts: MessageFacts
  readonly sentHeads: SentHeads
  readonly client: ClientFacts
  readonly body: RequestBody
  /** Whether the handler read the whole body: then it knows what it sends, and may send it twice. */
  readonly bodyWasRead: boolean
  readonly writer: ResponseWriter
  readonly signal: AbortSignal
  readonly gone: boolean
  readonly clock: Clock
  readonly limits: RelayLimits
  readonly pool: UpstreamPool
  /** Called once if the exchange is aborted, unless removed before. */
  onAbort(listener: AbortListener): void
  forgetAbort(listener: AbortListener): void
  /** Resolves when the client has taken what is queued; rejects if it leaves first. */
  whenDrained(done: Done): void
  /** Cuts the client's connection, so that it notices that something is missing. */
  cut(): void
  tunnelTo(upstream: Socket, leftover: Buffer): Promise<TunnelResult>
}
