import { once } from 'node:events'
import { type Server, type Socket, connect, createServer } from 'node:net'
import { systemClock } from '../../foundation/clock.ts'
import { ReadBatch } from './read-batch.ts'
import { TurnClock } from './turn-clock.ts'

export interface SocketEnds {
  readonly server: Server
  readonly accepted: Socket
  readonly far: Socket
}

/** Both ends of a connection, for tests of what stands between them. */
export class OpenedEnds {
  readonly #opened: SocketEnds[] = []

  /** `wrap`: what the test makes of the accepted socket. */
  async open(wrap: (accepted: Socket) => Socket = (accepted) => accepted): Promise<SocketEnds> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('not listening on a port')
    const far = connect({ host: '127.0.0.1', port: address.port, allowHalfOpen: true })
    const accepted = wrap(await new Promise<Socket>((resolve) => server.once('connection', resolve)))
    // A test that wants to hear of it listens itself.
    for (const end of [accepted, far]) end.on('error', () => {})
    const ends = { server, accepted, far }
    this.#opened.push(ends)
    return ends
  }

  clear(): void {
    for (const { server, accepted, far } of this.#opened.splice(0)) {
      far.destroy()
      accepted.destroy()
      server.close()
    }
  }
}

export function newReadBatch(): ReadBatch {
  return new ReadBatch(new TurnClock(systemClock))
}
