import { isIP } from 'node:net'
import { SluiceError } from '../foundation/errors.ts'
import type { Exchange } from '../relay/exchange.ts'
import { Remembered } from '../relay/http/remembered.ts'

/** A name as DNS has it, perhaps with the dot at its end, perhaps with a port. Nothing in it is decoded. */
const hostForm = /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)\.?(?::\d{0,5})?$/

const hosts = new Remembered((given: string) => hostForm.exec(given.toLowerCase())?.[1])

/** The one way to write a host by which routes are found; `undefined` for what is no name. */
export function plainHost(given: string): string | undefined {
  return hosts.of(given)
}

/**
 * The host that a request is for. A connection is opened for one name, and the certificate shown is that name's: who
 * then asks for another is sent away, or a name in a certificate would say nothing about who answers. Who names nobody
 * in its handshake, as with an address, may ask for any.
 */
export function askedHost({ head, client }: Pick<Exchange, 'head' | 'client'>): string {
  const host = plainHost(head.headers.get('host') ?? '')
  if (host === undefined) throw new SluiceError('host_not_exposed')
  const { serverName } = client
  if (serverName !== undefined && serverName !== host && plainHost(serverName) !== host) {
    throw new SluiceError('host_disagrees')
  }
  return host
}

const ownHosts = new Remembered((host: string) => host === 'localhost' || isIP(host) !== 0)

/** Whether a host is the edge's own: an exposed one begins with three names, in a domain. */
export function isOwnHost(host: string): boolean {
  return ownHosts.of(host)
}
