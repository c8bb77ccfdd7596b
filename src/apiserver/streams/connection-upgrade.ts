import { type IncomingMessage, STATUS_CODES, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

export type UpgradeProtocol = 'websocket' | 'spdy/3.1'

const streaming = /\/(?:exec|attach|portforward|log)(?:\?|$)/
const keepAliveMs = 30_000

/**
 * The protocol that a client wants to switch to, where switching makes sense. Other requests are answered as if they
 * had not asked.
 */
export function wantedUpgrade({ headers, url = '' }: IncomingMessage): UpgradeProtocol | undefined {
  const wanted = (headers.upgrade ?? '').toLowerCase()
  if (!streaming.test(url)) return undefined
  return wanted === 'websocket' || wanted === 'spdy/3.1' ? wanted : undefined
}

/**
 * A connection that its client wants to switch from HTTP to another protocol. It can still be answered in HTTP, to
 * refuse it.
 */
export class ConnectionUpgrade {
  readonly protocol: UpgradeProtocol
  /** For answers in HTTP, which end the connection. */
  readonly response: ServerResponse
  readonly #socket: Socket
  readonly #head: Buffer
  #accepted = false

  private constructor(protocol: UpgradeProtocol, request: IncomingMessage, socket: Socket, head: Buffer) {
    this.protocol = protocol
    this.#socket = socket
    this.#head = head
    this.response = new ServerResponse(request)
    this.response.shouldKeepAlive = false
    this.response.assignSocket(socket)
    this.response.once('finish', () => socket.destroySoon())
  }

  static of(request: IncomingMessage, socket: Duplex, head: Buffer): ConnectionUpgrade | undefined {
    const protocol = wantedUpgrade(request)
    return protocol !== undefined && socket instanceof Socket
      ? new ConnectionUpgrade(protocol, request, socket, head)
      : undefined
  }

  get accepted(): boolean {
    return this.#accepted
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Switches. From here on the connection belongs to the caller. */
  accept(headers: Readonly<Record<string, string>>): Duplex {
    const socket = this.#socket
    this.#accepted = true
    this.response.statusCode = 101
    this.response.detachSocket(socket)
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, keepAliveMs)
    if (this.#head.length > 0) socket.unshift(this.#head)
    socket.write(`HTTP/1.1 101 ${STATUS_CODES[101]}\r\n${lines.join('')}\r\n`)
    return socket
  }
}
