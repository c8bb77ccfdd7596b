import { type Socket, createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import type { QueryAnswerer } from '../resolver.ts'

/** Queries over UDP: what cannot be answered or sent is dropped, and the client asks again. */
export class UdpFace {
  readonly #socket: Socket
  #closed = false

  constructor(address: string, resolver: QueryAnswerer) {
    this.#socket = isIPv6(address) ? createSocket({ type: 'udp6', ipv6Only: true }) : createSocket('udp4')
    this.#socket.on('message', (query, from) => {
      const send = (answer: Buffer | undefined) => {
        if (answer) this.#send(answer, from.port, from.address)
      }
      const answer = resolver.answer(query, { address: from.address, transport: 'udp' })
      if (answer instanceof Promise) void answer.then(send)
      else send(answer)
    })
  }

  /** Resolves to the port. */
  listen(address: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#socket.once('error', reject)
      this.#socket.bind({ address, port, exclusive: true }, () => {
        this.#socket.off('error', reject)
        this.#socket.on('error', () => {})
        resolve(this.#socket.address().port)
      })
    })
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#closed = true
      this.#socket.close(() => resolve())
    })
  }

  #send(answer: Buffer, port: number, address: string): void {
    if (!this.#closed) this.#socket.send(answer, port, address, () => {})
  }
}
