import { once } from 'node:events'
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as httpRequest,
} from 'node:http'
import { type Socket, connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { HttpExchange } from '../http/http-exchange.ts'
import { type ProxiedAt, proxiedLink, proxiedPage } from './proxied-links.ts'
import type { ProxyPlace } from './proxy-place.ts'

export interface ProxiedRequest {
  readonly exchange: HttpExchange
  readonly place: ProxyPlace
  /** The path with its query, as the other side is asked for it. */
  readonly path: string
  /** The address under which the client sees the other side, without a trailing slash. */
  readonly base: string
}

const connectMs = 10_000
/** How long either side may be silent: models think for minutes before their first word. */
const silenceMs = 15 * 60_000
/** The links of longer pages are not rewritten. */
const longestPage = 1024 * 1024

/** Headers about this connection or for this server only, which are not passed on. */
const notPassedOn = new Set([
  'authorization',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // Pages must come uncompressed, because their links are rewritten.
  'accept-encoding',
])
const notAnswered = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // The other side must not decide who may use this server's answers.
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
])

/** Passes a request on to a Pod and its answer back, both as they come. */
export async function proxyExchange(proxied: ProxiedRequest, clock: Clock): Promise<void> {
  const { exchange, place } = proxied
  exchange.ticket?.leave()
  const { signal } = exchange
  const socket = await reach(place, signal, clock)
  const leave = () => socket.destroy()
  signal.addEventListener('abort', leave, { once: true })
  try {
    const answer = await ask(proxied, socket)
    await passBack(proxied, answer)
  } catch (error) {
    if (error instanceof StatusError) throw error
    throw unreachable(errorMessage(error), error)
  } finally {
    signal.removeEventListener('abort', leave)
    socket.destroy()
  }
}

async function reach({ scheme, host, port }: ProxyPlace, signal: AbortSignal, clock: Clock): Promise<Socket> {
  // Nobody signs the certificates of Pods: as in Kubernetes, https is for Pods that speak nothing else.
  const socket = scheme === 'https' ? connectTls({ host, port, rejectUnauthorized: false }) : connect({ host, port })
  const overdue = new AbortController()
  const cancel = clock.after(connectMs, () => overdue.abort())
  try {
    await once(socket, scheme === 'https' ? 'secureConnect' : 'connect', {
      signal: AbortSignal.any([signal, overdue.signal]),
    })
  } catch (error) {
    socket.on('error', () => {})
    socket.destroy()
    throw unreachable(overdue.signal.aborted ? 'i/o timeout' : errorMessage(error), error)
  } finally {
    cancel()
  }
  socket.setTimeout(silenceMs, () => socket.destroy(new Error('neither side said anything for too long')))
  return socket
}

async function ask({ exchange, path, base }: ProxiedRequest, socket: Socket): Promise<IncomingMessage> {
  const { request } = exchange
  const { method = 'GET' } = request
  const headers = onwardHeaders(request.headers, request.socket.remoteAddress ?? '')
  headers['x-forwarded-uri'] = base + path.replace(/\?.*$/s, '')
  const onward = httpRequest({ createConnection: () => socket, setHost: false, method, path, headers })
  // The client's body may still be arriving when the answer comes, and break off then.
  request.once('error', () => onward.destroy())
  request.pipe(onward)
  return new Promise((resolve, reject) => {
    onward.on('error', reject)
    onward.once('response', resolve)
  })
}

async function passBack(proxied: ProxiedRequest, answer: IncomingMessage): Promise<void> {
  const { exchange } = proxied
  const at = proxiedAt(proxied)
  const headers = answerHeaders(answer.headers)
  const { location } = answer.headers
  if (location !== undefined) headers['location'] = proxiedLink(location, at)
  const { statusCode = 502 } = answer
  const isPage = /^text\/html\s*(?:;|$)/i.test(answer.headers['content-type'] ?? '')
  const isPlain = answer.headers['content-encoding'] === undefined
  const chunks = answer.iterator({ destroyOnReturn: false })
  const begun: Buffer[] = []
  if (isPage && isPlain && location === undefined && exchange.request.method !== 'HEAD') {
    delete headers['content-length']
    const whole = await gather(chunks, begun)
    if (whole) {
      const page = Buffer.from(proxiedPage(Buffer.concat(begun).toString('utf8'), at))
      exchange.response.writeHead(statusCode, { ...headers, 'content-length': page.length })
      exchange.response.end(page)
      return
    }
  }
  exchange.response.writeHead(statusCode, headers)
  for (const chunk of begun) if (!(await exchange.write(chunk))) return
  for await (const chunk of chunks) if (!(await exchange.write(chunk))) return
  exchange.endStream()
}

/** Whether everything came within the bound. */
async function gather(chunks: AsyncIterator<Buffer>, into: Buffer[]): Promise<boolean> {
  let size = 0
  for (;;) {
    const next = await chunks.next()
    if (next.done === true) return true
    into.push(next.value)
    size += next.value.length
    if (size > longestPage) return false
  }
}

function proxiedAt({ exchange, place, base }: ProxiedRequest): ProxiedAt {
  return { base, hosts: [exchange.request.headers.host ?? '', `${place.host}:${place.port}`] }
}

function onwardHeaders(headers: IncomingHttpHeaders, client: string): OutgoingHttpHeaders {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
  const onward: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers)) {
    if (!notPassedOn.has(name) && !named.has(name) && !name.startsWith('impersonate-')) onward[name] = value
  }
  // For DELETE and GET, Node would send a body without saying where it ends.
  if (headers['transfer-encoding'] !== undefined) onward['transfer-encoding'] = 'chunked'
  const before = headers['x-forwarded-for']
  onward['x-forwarded-for'] = before === undefined ? client : `${String(before)}, ${client}`
  return onward
}

function answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const back: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers)) if (!notAnswered.has(name)) back[name] = value
  return back
}

function unreachable(why: string, cause: unknown): StatusError {
  return new StatusError('ServiceUnavailable', `error trying to reach service: ${why}`, {}, { cause })
}
