import type { RequestBody } from '../client/request-body.ts'
import type { ClientFacts, ForwardOptions, HeaderChanges, RequestHead, Upstream } from '../exchange.ts'
import { type HeaderField, isSet } from '../http/header-field.ts'
import { lengthAtEnd } from '../http/length-line.ts'
import { type MessageFacts, splitList } from '../http/message-facts.ts'
import { type SentHead, type SentHeads, type SentText, writeSentHead } from '../http/sent-heads.ts'
import type { RelayLimits } from '../limits.ts'
import type { OutputBatch } from '../socket/socket-output.ts'

const noPieces: readonly Buffer[] = []

/** In trailers these would change how the message is framed, routed or authorized (RFC 9110 6.5.1). */
const forbiddenInTrailers = new Set([
  'host',
  'authorization',
  'cookie',
  'set-cookie',
  'content-encoding',
  'content-type',
  'content-range',
  'cache-control',
])

const noChanges: HeaderChanges = { set: [], remove: [] }

/** Protocols whose requests the relay could not check. */
const refusedUpgrades = /^(?:h2c?|http\/|tls\/)/

/** The body's length, or how else its end is marked. */
export type RequestFraming = number | 'none' | 'chunked'

/** A request as it goes to an upstream. */
export interface OutgoingRequest {
  readonly method: string
  readonly sentHead: SentHead
  /** The handler's fields; those that differ each time are not in `sentHead`. */
  readonly set: readonly HeaderField[]
  readonly upstream: Upstream
  readonly framing: RequestFraming
  /** The whole body in pieces; if unset, it is streamed as it arrives. */
  readonly whole: readonly Buffer[] | undefined
  readonly stream: RequestBody
  /** The protocols offered to the upstream; see `offeredUpgrade`. */
  readonly upgrade: string | undefined
  /** How long the upstream may take to its first byte. */
  readonly firstByteMs: number
}

/** The request as its client sent it. */
export interface IncomingRequest {
  readonly head: RequestHead
  readonly facts: MessageFacts
  readonly client: ClientFacts
  readonly sentHeads: SentHeads
  readonly body: RequestBody
  readonly limits: Pick<RelayLimits, 'upstreamFirstByteMs'>
}

export function outgoingRequest(from: IncomingRequest, upstream: Upstream, options: ForwardOptions): OutgoingRequest {
  const { body, head } = from
  const whole = options.body ?? (body.declared ? body.keepIfArrived() : noPieces)
  return {
    method: head.method,
    sentHead: sentHeadOf(from, options),
    set: (options.requestHeaders ?? noChanges).set,
    upstream,
    framing: options.body ? bytesOf(options.body) : framingOf(from, whole),
    whole,
    stream: body,
    upgrade: options.into ? undefined : offeredUpgrade(head, from.facts),
    firstByteMs: options.firstByteTimeoutMs ?? from.limits.upstreamFirstByteMs,
  }
}

function bytesOf(pieces: readonly Buffer[]): number {
  let bytes = 0
  for (const piece of pieces) bytes += piece.length
  return bytes
}

function framingOf({ body, facts }: IncomingRequest, whole: readonly Buffer[] | undefined): RequestFraming {
  if (!body.declared) return 'none'
  if (whole && body.trailers.length === 0) return body.keptBytes
  return facts.contentLength ?? 'chunked'
}

/** The protocols that a client offers to switch to, unless the relay refuses one of them. */
function offeredUpgrade(head: RequestHead, facts: MessageFacts): string | undefined {
  if (facts.upgrade === undefined || facts.chunked || (facts.contentLength ?? 0) > 0) return undefined
  const offered = splitList(facts.upgrade)
  if (offered.length === 0 || offered.some((protocol) => refusedUpgrades.test(protocol))) return undefined
  return head.version === '1.1' ? facts.upgrade : undefined
}

/** The beginning of the request's head for the upstream. */
function sentHeadOf(from: IncomingRequest, options: ForwardOptions): SentHead {
  const changes = options.requestHeaders ?? noChanges
  const { set, remove } = changes
  const target = options.target ?? from.head.target
  return (
    from.sentHeads.like(target, set, remove) ??
    from.sentHeads.remember(target, set, remove, textUp(from, target, changes))
  )
}

export function writeOutgoingHead(request: OutgoingRequest, out: OutputBatch): void {
  const { sentHead, set, framing, upgrade } = request
  writeSentHead(sentHead, set, out)
  if (!sentHead.hasHost) out.addText(`host: ${authorityOf(request.upstream)}\r\n`)
  if (upgrade !== undefined) out.addText(`connection: Upgrade\r\nupgrade: ${upgrade}\r\n`)
  if (framing === 'none') return out.addText('\r\n')
  if (framing === 'chunked') return out.addText('transfer-encoding: chunked\r\n\r\n')
  out.addBuffer(lengthAtEnd(framing))
}

function textUp({ head, facts, client }: IncomingRequest, target: string, changes: HeaderChanges): SentText {
  if (!/^[!-~]+$/.test(target)) throw new TypeError('the target for the upstream has a forbidden character')
  const { connectionNames } = facts
  let text = `${head.method} ${target} HTTP/1.1\r\n`
  let hasHost = isSet('host', changes.set)
  for (const { line, known } of head.headers.fields) {
    if (known.isHop || known.isRelays || isChanged(known.key, changes)) continue
    if (known.role === 'host') hasHost = true
    else if (connectionNames.length > 0 && connectionNames.includes(known.key)) continue
    text += line
  }
  if (!isChanged('x-forwarded-for', changes)) text += `x-forwarded-for: ${client.address}\r\n`
  if (!isChanged('x-forwarded-proto', changes)) text += `x-forwarded-proto: ${client.secure ? 'https' : 'http'}\r\n`
  if (facts.host !== undefined && !isChanged('x-forwarded-host', changes)) text += `x-forwarded-host: ${facts.host}\r\n`
  return { text, hasHost }
}

/** The trailers that may be sent on. */
export function trailerFields(trailers: readonly HeaderField[]): readonly HeaderField[] {
  if (trailers.length === 0) return trailers
  return trailers.filter(({ known }) => !known.isHop && !known.isRelays && !forbiddenInTrailers.has(known.key))
}

function isChanged(key: string, changes: HeaderChanges): boolean {
  return isSet(key, changes.set) || changes.remove.includes(key)
}

function authorityOf(upstream: Upstream): string {
  return upstream.host.includes(':') ? `[${upstream.host}]:${upstream.port}` : `${upstream.host}:${upstream.port}`
}
