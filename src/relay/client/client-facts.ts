import type { Socket } from 'node:net'
import type { ClientFacts } from '../exchange.ts'

/** What a connection tells about its client. */
export function clientFacts(socket: Socket, secure: boolean): ClientFacts {
  return { address: addressOf(socket), secure, serverName: serverNameOf(socket) }
}

export function addressOf(socket: Socket): string {
  return (socket.remoteAddress ?? '').replace(/^::ffff:/, '')
}

/** Node has it at every socket of TLS, and in no type. */
function serverNameOf(socket: Socket): string | undefined {
  const name: unknown = Reflect.get(socket, 'servername')
  return typeof name === 'string' ? name : undefined
}
