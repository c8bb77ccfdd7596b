import { type Server, type Socket, createServer } from 'node:net'
import type { Logger } from '../../foundation/log.ts'

/** The address at which programs inside a cluster reach its API, with this cluster and nothing else behind it. */
export class InsideListener {
  readonly #accept: (socket: Socket) => void
  readonly #log: Logger
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined

  constructor(accept: (socket: Socket) => void, log: Logger) {
    this.#accept = accept
    this.#log = log
  }

  listen(address: string, port: number): Promise<void> {
    const server = createServer((socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      this.#accept(socket)
    })
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, address, () => {
        server.off('error', reject)
        server.on('error', (error) => this.#log.error({ err: error }, "the listener of the cluster's inside failed"))
        this.#server = server
        resolve()
      })
    })
  }

  /** Takes no new connections; existing ones go on until `destroy`. */
  close(): void {
    this.#server?.close()
    this.#server = undefined
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
