import type { ForwardOptions, HeaderPairs, RequestHead, ResponseHead, Upstream } from './exchange.ts'
import { isFieldValue, isToken } from './head-reader.ts'
import { type MessageFacts, splitList } from './message-facts.ts'

type Changes = Readonly<Record<string, string | undefined>> | undefined

/** Fields about one hop, never sent on. `trailer` and the framing fields are made anew where they still hold. */
const hopFields = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/** What only the relay may say about where a request came from, plus what it answers itself. */
const relayFields = new Set([
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-real-ip',
  'forwarded',
  'content-length',
  'expect',
])

/** In trailers these would change how the message is framed, routed or authorized (RFC 9110 6.5.1). */
const forbiddenInTrailers = new Set([
  ...hopFields,
  ...relayFields,
  'host',
  'authorization',
  'cookie',
  'set-cookie',
  'content-encoding',
  'content-type',
  'content-range',
  'cache-control',
])

/** Protocols that would turn the connection into something whose requests nobody checks. */
const refusedUpgrades = /^(?:h2c?|http\/|tls\/)/

export interface RequestFraming {
  readonly kind: 'none' | 'length' | 'chunked'
  readonly length: number
}

export interface OutgoingRequest {
  readonly head: RequestHead
  readonly facts: MessageFacts
  readonly clientAddress: string
  readonly secure: boolean
  readonly upstream: Upstream
  readonly framing: RequestFraming
  /** Protocols to offer the upstream; see `offeredUpgrade`. */
  readonly upgrade: string | undefined
  readonly options: Pick<ForwardOptions, 'target' | 'requestHeaders'>
}

/** The protocols a client offers to change to, unless there is one among them that the relay does not let through. */
export function offeredUpgrade(head: RequestHead, facts: MessageFacts): string | undefined {
  if (facts.upgrade === undefined || facts.chunked || (facts.contentLength ?? 0) > 0) return undefined
  const offered = splitList(facts.upgrade)
  if (offered.length === 0 || offered.some((protocol) => refusedUpgrades.test(protocol))) return undefined
  return head.version === '1.1' ? facts.upgrade : undefined
}

export function requestHeadText(request: OutgoingRequest): string {
  const { head, facts, framing, options } = request
  const changes = options.requestHeaders
  const target = options.target ?? head.target
  if (!/^[!-~]+$/.test(target)) throw new TypeError('the target for the upstream has a forbidden character')
  let text = `${head.method} ${target} HTTP/1.1\r\n`
  let hasHost = changes?.['host'] !== undefined
  for (const [name, value] of head.headers) {
    const key = name.toLowerCase()
    if (changes && Object.hasOwn(changes, key)) continue
    if (key === 'host') hasHost = true
    else if (hopFields.has(key) || relayFields.has(key) || facts.connectionNames.includes(key)) continue
    text += `${name}: ${value}\r\n`
  }
  if (!hasHost) text += `host: ${authorityOf(request.upstream)}\r\n`
  text += fieldUnlessChanged('x-forwarded-for', request.clientAddress, changes)
  text += fieldUnlessChanged('x-forwarded-proto', request.secure ? 'https' : 'http', changes)
  text += fieldUnlessChanged('x-forwarded-host', facts.host, changes)
  text += changedFields(changes)
  if (framing.kind === 'length') text += `content-length: ${framing.length}\r\n`
  if (framing.kind === 'chunked') text += 'transfer-encoding: chunked\r\n'
  if (request.upgrade !== undefined) text += `connection: Upgrade\r\nupgrade: ${request.upgrade}\r\n`
  return `${text}\r\n`
}

/** The fields of an upstream's response that go on to the client. */
export function responseFields(head: ResponseHead, facts: MessageFacts, changes: Changes): HeaderPairs {
  const fields: Array<readonly [string, string]> = []
  for (const [name, value] of head.headers) {
    const key = name.toLowerCase()
    if (hopFields.has(key) || facts.connectionNames.includes(key)) continue
    if (changes && Object.hasOwn(changes, key) && key !== 'content-length') continue
    fields.push([name, value])
  }
  for (const [name, value] of Object.entries(changes ?? {})) {
    if (value !== undefined && !hopFields.has(name) && name !== 'content-length') fields.push([name, value])
  }
  return fields
}

/** Trailers that may go on. */
export function trailerFields(trailers: HeaderPairs): HeaderPairs {
  if (trailers.length === 0) return trailers
  return trailers.filter(([name]) => !forbiddenInTrailers.has(name.toLowerCase()))
}

function fieldUnlessChanged(name: string, value: string | undefined, changes: Changes): string {
  return value === undefined || (changes && Object.hasOwn(changes, name)) ? '' : `${name}: ${value}\r\n`
}

function changedFields(changes: Changes): string {
  let text = ''
  if (!changes) return text
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || hopFields.has(name) || name === 'content-length') continue
    if (!isToken(name) || !isFieldValue(value)) throw new TypeError(`the header ${JSON.stringify(name)} is malformed`)
    text += `${name}: ${value}\r\n`
  }
  return text
}

function authorityOf(upstream: Upstream): string {
  return upstream.host.includes(':') ? `[${upstream.host}]:${upstream.port}` : `${upstream.host}:${upstream.port}`
}
