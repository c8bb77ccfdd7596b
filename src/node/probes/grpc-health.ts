import { type ClientHttp2Session, type IncomingHttpHeaders, connect, constants } from 'node:http2'
import { errorMessage } from '../../foundation/errors.ts'
import type { ProbeResult } from './probe-result.ts'

export interface GrpcHealthCheck {
  readonly host: string
  readonly port: number
  /** The service to ask about; empty means the whole server. */
  readonly service: string
  /** The timeout that the server is told; the caller's signal ends the wait. */
  readonly timeoutMs: number
}

/** Real answers have a few bytes; a server that sends more is no health service. */
const mostAnswerBytes = 64 * 2 ** 10
const unimplemented = 12
const servingStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN']
const serving = 1
const codeNames = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
]

/** The end of a gRPC call: its code, the server's message, and the answer. */
interface CallEnd {
  readonly code: number
  readonly message: string
  readonly answer: Buffer
}

/** Calls `grpc.health.v1.Health/Check` without TLS, as the kubelet does. Never throws: failures are results. */
export async function checkGrpcHealth(check: GrpcHealthCheck, signal: AbortSignal): Promise<ProbeResult> {
  const seconds = `${check.timeoutMs / 1000}s`
  const address = `${check.host.includes(':') ? `[${check.host}]` : check.host}:${check.port}`
  let connected = false
  let session: ClientHttp2Session | undefined
  try {
    session = connect(`http://${address}`)
    session.once('connect', () => (connected = true))
    return resultOf(await callHealth(session, check, signal))
  } catch (error) {
    const message = signal.aborted
      ? connected
        ? `timeout: health rpc did not complete within ${seconds}`
        : `timeout: failed to connect service "${address}" within ${seconds}`
      : connected
        ? `error: health rpc probe failed: ${errorMessage(error)}`
        : `error: failed to connect service at "${address}": ${errorMessage(error)}`
    return { ok: false, message }
  } finally {
    session?.destroy()
  }
}

function callHealth(session: ClientHttp2Session, check: GrpcHealthCheck, signal: AbortSignal): Promise<CallEnd> {
  const { promise, resolve, reject } = Promise.withResolvers<CallEnd>()
  const onAbort = () => reject(new Error('the probe did not answer in time'))
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  // A server that sends GOAWAY before it has answered ends the session without an error.
  session.on('error', reject)
  session.once('close', () => reject(new Error('the connection was closed before an answer came')))
  const call = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_PATH]: '/grpc.health.v1.Health/Check',
    [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
    [constants.HTTP2_HEADER_TE]: 'trailers',
    [constants.HTTP2_HEADER_USER_AGENT]: 'kube-probe/1.34',
    'grpc-timeout': `${check.timeoutMs}m`,
  })
  const chunks: Buffer[] = []
  let size = 0
  let ended: IncomingHttpHeaders = {}
  call.on('error', reject)
  call.once('response', (headers) => {
    const status = Number(headers[constants.HTTP2_HEADER_STATUS])
    if (status !== 200) reject(new Error(`the server answered with the HTTP status ${status}`))
    ended = headers
  })
  call.once('trailers', (trailers) => (ended = trailers))
  call.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > mostAnswerBytes) return reject(new Error(`the server answered with more than ${mostAnswerBytes} bytes`))
    chunks.push(chunk)
  })
  call.once('end', () => {
    const code = ended['grpc-status']
    if (code === undefined) reject(new Error('the server does not speak gRPC: its answer has no grpc-status'))
    const message = decoded(String(ended['grpc-message'] ?? ''))
    resolve({ code: Number(code), message, answer: Buffer.concat(chunks) })
  })
  call.end(request(check.service))
  return promise.finally(() => signal.removeEventListener('abort', onAbort))
}

function resultOf({ code, message, answer }: CallEnd): ProbeResult {
  if (code === unimplemented) {
    const what = 'error: this server does not implement the grpc health protocol (grpc.health.v1.Health)'
    return { ok: false, message: `${what}: ${message}` }
  }
  if (code !== 0) {
    const name = codeNames[code] ?? `Code(${code})`
    return { ok: false, message: `error: health rpc probe failed: rpc error: code = ${name} desc = ${message}` }
  }
  const status = statusIn(answer)
  if (status === serving) return { ok: true }
  return { ok: false, message: `service unhealthy (responded with "${servingStatuses[status] ?? status}")` }
}

/** A gRPC message: compression flag, length, and HealthCheckRequest {1: service}. */
function request(service: string): Buffer {
  const name = Buffer.from(service)
  const message = name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a]), varint(name.length), name])
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** Reads HealthCheckResponse {1: status}; unknown fields are skipped. */
function statusIn(answer: Buffer): number {
  const compressed = answer[0] !== 0
  if (compressed || answer.length < 5) return 0
  const message = answer.subarray(5, 5 + answer.readUInt32BE(1))
  let status = 0
  for (let at = 0; at < message.length;) {
    const tag = readVarint(message, at)
    const value = readVarint(message, tag.end)
    const wireType = tag.value & 7
    if (wireType === 0) {
      if (tag.value >> 3 === 1) status = value.value
      at = value.end
    } else if (wireType === 2) at = value.end + value.value
    else if (wireType === 1) at = tag.end + 8
    else if (wireType === 5) at = tag.end + 4
    else return 0
  }
  return status
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80)
    rest >>>= 7
  }
  return Buffer.from([...bytes, rest])
}

function readVarint(bytes: Buffer, begin: number): { readonly value: number; readonly end: number } {
  let value = 0
  let end = begin
  for (let shift = 0; end < bytes.length; shift += 7) {
    const byte = bytes[end] ?? 0
    end += 1
    if (shift < 28) value |= (byte & 0x7f) << shift
    if (byte < 0x80) break
  }
  return { value, end }
}

/** gRPC percent-encodes messages. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
