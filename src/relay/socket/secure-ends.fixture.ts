import { once } from 'node:events'
import * as net from 'node:net'
import { connect, createServer, type Server, type TLSSocket } from 'node:tls'
import { makeIdentity } from '../made-identity.fixture.ts'

export interface SecureEnds {
  readonly accepted: TLSSocket
  readonly far: TLSSocket
}

/** Both ends of a TLS connection, for tests of what stands between them. */
export class OpenedSecureEnds {
  readonly #opened: Array<SecureEnds & { readonly server: Server }> = []

  async open(): Promise<SecureEnds> {
    const server = createServer({ ...(await makeIdentity('CN=test')), allowHalfOpen: true, noDelay: true })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('not listening on a port')
    const accepting = new Promise<TLSSocket>((resolve) => server.once('secureConnection', resolve))
    const wire = net.connect({ host: '127.0.0.1', port: address.port, allowHalfOpen: true })
    const far = connect({ socket: wire, rejectUnauthorized: false })
    const accepted = await accepting
    // A test that wants to hear of it listens itself.
    for (const end of [accepted, far]) end.on('error', () => {})
    this.#opened.push({ server, accepted, far })
    return { accepted, far }
  }

  clear(): void {
    for (const { server, accepted, far } of this.#opened.splice(0)) {
      far.destroy()
      accepted.destroy()
      server.close()
    }
  }
}
