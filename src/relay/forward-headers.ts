import type { ForwardOptions, HeaderChanges, RequestHead, Upstream } from './exchange.ts'
import type { ForwardSide } from './forward-side.ts'
import type { HeaderField } from './header-field.ts'
import { type MessageFacts, splitList } from './message-facts.ts'
import { changingLines, type OnwardText } from './onward-heads.ts'

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

/** Protocols that would turn the connection into something whose requests nobody checks. */
const refusedUpgrades = /^(?:h2c?|http\/|tls\/)/

/** A length, or how else the body's end is told. */
export type RequestFraming = number | 'none' | 'chunked'

export interface OutgoingRequest {
  /** Whose request it is. */
  readonly side: RequestingSide
  readonly upstream: Upstream
  readonly framing: RequestFraming
  /** Protocols to offer the upstream; see `offeredUpgrade`. */
  readonly upgrade: string | undefined
  readonly options: Pick<ForwardOptions, 'target' | 'requestHeaders'>
}

type RequestingSide = Pick<ForwardSide, 'head' | 'facts' | 'client' | 'onward'>

/** The protocols a client offers to change to, unless there is one among them that the relay does not let through. */
export function offeredUpgrade(head: RequestHead, facts: MessageFacts): string | undefined {
  if (facts.upgrade === undefined || facts.chunked || (facts.contentLength ?? 0) > 0) return undefined
  const offered = splitList(facts.upgrade)
  if (offered.length === 0 || offered.some((protocol) => refusedUpgrades.test(protocol))) return undefined
  return head.version === '1.1' ? facts.upgrade : undefined
}

/** A head on its way up: what is the same for one request after the other, and what is not. */
export interface OutgoingHead {
  readonly bytes: Buffer | undefined
  readonly text: string
}

export function outgoingHead(request: OutgoingRequest): OutgoingHead {
  const { side, framing, options } = request
  const changes = options.requestHeaders ?? noChanges
  const { set, remove } = changes
  const target = options.target ?? side.head.target
  const {
    bytes,
    text: beginning,
    hasHost,
  } = side.onward.like(target, set, remove) ?? side.onward.remember(target, set, remove, textUp(side, target, changes))
  let text = beginning + changingLines(set)
  if (!hasHost) text += `host: ${authorityOf(request.upstream)}\r\n`
  if (typeof framing === 'number') text += `content-length: ${framing}\r\n`
  if (framing === 'chunked') text += 'transfer-encoding: chunked\r\n'
  if (request.upgrade !== undefined) text += `connection: Upgrade\r\nupgrade: ${request.upgrade}\r\n`
  return { bytes, text: `${text}\r\n` }
}

function textUp({ head, facts, client }: RequestingSide, target: string, changes: HeaderChanges): OnwardText {
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

/** Trailers that may go on. */
export function trailerFields(trailers: readonly HeaderField[]): readonly HeaderField[] {
  if (trailers.length === 0) return trailers
  return trailers.filter(({ known }) => !known.isHop && !known.isRelays && !forbiddenInTrailers.has(known.key))
}

function isChanged(key: string, changes: HeaderChanges): boolean {
  return isSet(key, changes.set) || changes.remove.includes(key)
}

/** There are a few at most: looking through them is faster than any table. */
export function isSet(key: string, fields: readonly HeaderField[]): boolean {
  for (const { known } of fields) if (known.key === key) return true
  return false
}

function authorityOf(upstream: Upstream): string {
  return upstream.host.includes(':') ? `[${upstream.host}]:${upstream.port}` : `${upstream.host}:${upstream.port}`
}
