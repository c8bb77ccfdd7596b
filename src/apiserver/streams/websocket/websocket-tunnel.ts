import type { Duplex } from 'node:stream'
import { FedStream } from '../fed-stream.ts'
import type { WebSocketConnection } from './websocket-connection.ts'
import { WebSocketViolation, opcodes } from './websocket-frames.ts'

/** A WebSocket as a plain stream of bytes: the contents of its binary messages, in order. */
export function tunnelThrough(connection: WebSocketConnection): Duplex {
  const tunnel = new FedStream({
    write: (data, done) => connection.send(opcodes.binary, data, done),
    end: (done) => {
      connection.close(1000)
      done()
    },
    close: (broken) => {
      if (broken && !connection.left.aborted) connection.destroy()
    },
  })
  const received = connection.receive((message) => {
    if (message.text) throw new WebSocketViolation(1003, 'messages must be binary')
    return tunnel.feed(message.data)
  })
  connection.left.addEventListener('abort', () => tunnel.feedEnd(), { once: true })
  void received.finally(() => tunnel.destroy())
  return tunnel
}
