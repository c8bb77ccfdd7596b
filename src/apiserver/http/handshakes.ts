import type { Socket } from 'node:net'

/** What identifies a connection, whether by its TLS socket or by the TCP socket below it. */
type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>

/**
 * Bounds the TLS handshakes in progress. When one more comes than allowed, the oldest of the address with most of them
 * is closed: a real handshake takes a moment, so whoever only holds connections open loses them.
 */
export class Handshakes {
  readonly #most: number
  readonly #onDrop: () => void
  /** By address, oldest first. */
  readonly #byAddress = new Map<string, Map<string, Socket>>()
  #size = 0

  constructor(most: number, onDrop: () => void) {
    this.#most = most
    this.#onDrop = onDrop
  }

  get size(): number {
    return this.#size
  }

  begin(socket: Socket): void {
    const { remoteAddress = '' } = socket
    const id = idOf(socket)
    if (this.#size >= this.#most) this.#makeRoom()
    let peers = this.#byAddress.get(remoteAddress)
    if (!peers) this.#byAddress.set(remoteAddress, (peers = new Map()))
    if (!peers.has(id)) this.#size += 1
    peers.set(id, socket)
    socket.once('close', () => {
      if (this.#byAddress.get(remoteAddress)?.get(id) === socket) this.#remove(remoteAddress, id)
    })
  }

  /** The handshake succeeded; the socket may be the TLS socket around the one that was added. */
  done(socket: Ends): void {
    this.#remove(socket.remoteAddress ?? '', idOf(socket))
  }

  #makeRoom(): void {
    let most: [address: string, peers: Map<string, Socket>] | undefined
    for (const entry of this.#byAddress) if (!most || entry[1].size > most[1].size) most = entry
    if (!most) return
    const [address, peers] = most
    for (const [id, oldest] of peers) {
      this.#remove(address, id)
      this.#onDrop()
      return void oldest.destroy()
    }
  }

  #remove(address: string, id: string): void {
    const peers = this.#byAddress.get(address)
    if (!peers?.delete(id)) return
    this.#size -= 1
    if (peers.size === 0) this.#byAddress.delete(address)
  }
}

function idOf({ remoteAddress, remotePort, localAddress, localPort }: Ends): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
