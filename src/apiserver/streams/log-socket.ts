import type { Clock } from '../../foundation/clock.ts'
import type { HttpExchange } from '../http/http-exchange.ts'
import { WebSocketConnection } from './websocket/websocket-connection.ts'
import { opcodes } from './websocket/websocket-frames.ts'
import { agreedProtocol, handshakeHeaders, offeredProtocols } from './websocket/websocket-handshake.ts'

/** Where the bytes of a log go. */
export interface LogSink {
  /** Resolves when there is room for more; to false when nobody reads any longer. */
  write(chunk: Buffer): Promise<boolean>
  end(): void
}

/** Sends a log as messages of a WebSocket, which programs in browsers can read while it grows. */
export function logSocket(exchange: HttpExchange, clock: Clock, left: () => void): LogSink {
  const { request } = exchange
  // A client that names no protocol gets the first, without being told.
  const asked = offeredProtocols(request).length > 0
  const protocol = asked ? agreedProtocol(request, ['binary.k8s.io', 'base64.binary.k8s.io']) : ''
  const { 'Sec-WebSocket-Protocol': named, ...headers } = handshakeHeaders(request, protocol)
  const socket = exchange.switchTo(
    asked && named !== undefined ? { ...headers, 'Sec-WebSocket-Protocol': named } : headers,
  )
  const connection = new WebSocketConnection(socket, clock)
  connection.left.addEventListener('abort', left, { once: true })
  // What a client sends here is ignored; only that it closes matters.
  void connection.receive(() => {})
  const isText = protocol === 'base64.binary.k8s.io'
  return {
    write: (chunk) =>
      new Promise((resolve) => {
        const payload = isText ? Buffer.from(chunk.toString('base64')) : chunk
        connection.send(isText ? opcodes.text : opcodes.binary, payload, (error) => resolve(!error))
      }),
    end: () => connection.hangUp(1000, ''),
  }
}
