import { type OnReadOpts, Socket } from 'node:net'
import { atOneTime } from '../foundation/clock.ts'

/** Node reads into it and calls back at once, so one is enough for all connections. */
const room = Buffer.allocUnsafeSlow(65_536)

/**
 * What a connection receives, copied out of the one place it is read into. Node would otherwise make room for 64 KiB with every
 * read, most of it for nothing, and pass it through a stream's queue.
 */
export class SocketInput implements OnReadOpts {
  readonly buffer = room
  /** Returns false when no more is to be read for now. */
  take: (chunk: Buffer) => boolean = () => false

  readonly callback = (bytes: number): boolean => {
    const chunk = Buffer.allocUnsafe(bytes)
    room.copy(chunk, 0, 0, bytes)
    return atOneTime(this.take, chunk)
  }

  /**
   * The connection that a server accepted, read in this way. Node offers it for connections that a program opens, not for those
   * that it accepts: a second socket takes over what the first one holds. What is not a plain connection, as TLS, stays as it is
   * and is listened to.
   */
  accept(accepted: Socket): Socket {
    const handle: unknown = isPlain(accepted) && Reflect.get(accepted, '_handle')
    if (typeof handle === 'object' && handle !== null) return takeOver(accepted, handle, this)
    accepted.on('data', this.#onStreamed)
    return accepted
  }

  /** From here on what arrives is read from the socket's stream, by somebody else. */
  giveUp(socket: Socket): void {
    if (socket.listeners('data').includes(this.#onStreamed)) socket.off('data', this.#onStreamed)
    else this.take = (chunk) => socket.push(chunk)
  }

  readonly #onStreamed = (chunk: Buffer): void => {
    this.take(chunk)
  }
}

/** Nothing stands between it and the system's socket. */
export function isPlain(socket: Socket): boolean {
  return Object.getPrototypeOf(socket) === Socket.prototype
}

function takeOver(accepted: Socket, handle: object, onread: OnReadOpts): Socket {
  const { allowHalfOpen } = accepted
  // Of a handle that is open already Node's types know nothing.
  const socket: unknown = Reflect.construct(Socket, [{ handle, onread, allowHalfOpen, readable: true, writable: true }])
  if (!(socket instanceof Socket)) throw new TypeError('not a socket')
  // By these the server counts its connections, and hears when one is over.
  for (const name of ['server', '_server']) Reflect.set(socket, name, Reflect.get(accepted, name))
  for (const name of ['server', '_server', '_handle']) Reflect.set(accepted, name, null)
  return socket
}
