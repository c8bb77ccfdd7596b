import { isIP } from 'node:net'
import { SluiceError } from '../../foundation/errors.ts'
import type { Exchange } from '../../relay/exchange.ts'
import { Remembered } from '../../relay/http/remembered.ts'

/** A DNS name, optionally with a dot at its end and a port. Percent-encoding is not decoded. */
const hostForm = /^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)\.?(?::\d{0,5})?$/

const hosts = new Remembered((given: string) => hostForm.exec(given.toLowerCase())?.[1])

/** The form of a host that routes are looked up by: lower case, no port; `undefined` if it is not a DNS name. */
export function plainHost(given: string): string | undefined {
  return hosts.of(given)
}

/**
 * The host that a request is for. It must be the one that the client named in its TLS handshake: the certificate shown
 * was for that name, and would otherwise say nothing about who answers. A client that named no host, because it
 * connected to an address, may ask for any.
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

/** Whether a host is the edge itself. Exposed hosts cannot look like this: they always have a domain. */
export function isOwnHost(host: string): boolean {
  return ownHosts.of(host)
}
