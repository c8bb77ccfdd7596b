import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { StatusError } from '../../../resources/status-error.ts'

const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** The subprotocols a client offers, in its order of preference. */
export function offeredProtocols(request: IncomingMessage): string[] {
  return (request.headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

/** The first of `supported` that the client offers. */
export function agreedProtocol<Name extends string>(request: IncomingMessage, supported: readonly Name[]): Name {
  const offered = offeredProtocols(request)
  const agreed = supported.find((name) => offered.includes(name))
  if (agreed !== undefined) return agreed
  const clients = offered.slice(0, 16).map((name) => name.slice(0, 64))
  throw new StatusError(
    'BadRequest',
    `unable to upgrade: the client offers the WebSocket protocols [${clients.join(' ')}], this server accepts [${supported.join(' ')}]`,
  )
}

/** The headers of the 101 for this request. Throws when it is not a proper WebSocket handshake. */
export function handshakeHeaders(request: IncomingMessage, protocol: string): Record<string, string> {
  const { headers, method } = request
  if (method !== 'GET') throw new StatusError('BadRequest', 'a WebSocket handshake is a GET')
  if (headers['sec-websocket-version'] !== '13') {
    throw new StatusError('BadRequest', 'unable to upgrade: Sec-WebSocket-Version must be 13')
  }
  const key = headers['sec-websocket-key'] ?? ''
  if (!/^[A-Za-z0-9+/]{22}==$/.test(key)) {
    throw new StatusError('BadRequest', 'unable to upgrade: Sec-WebSocket-Key must be 16 bytes in base64')
  }
  return {
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Accept': createHash('sha1').update(key).update(acceptSuffix).digest('base64'),
    'Sec-WebSocket-Protocol': protocol,
  }
}
