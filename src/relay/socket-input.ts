import type { OnReadOpts } from 'node:net'

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
    return this.take(chunk)
  }
}
