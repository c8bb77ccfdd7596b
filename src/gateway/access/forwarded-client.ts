import { isIP } from 'node:net'
import type { Exchange } from '../../relay/exchange.ts'
import type { HeaderField } from '../../relay/http/header-field.ts'
import { headerField } from '../../relay/http/header-list.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** Who asks, and what the model's server is told about it. */
export interface ForwardedClient {
  readonly address: string
  /** Only what differs from what the relay says by itself. */
  readonly fields: readonly HeaderField[]
}

const mostHops = 32
const hostForm = /^(?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/
const nothing: readonly HeaderField[] = []

/**
 * What proxies say about the client counts as far as they are trusted: the list of addresses is read from its end, and
 * the first one that is nobody we trust is the client. What stands before it anybody may have written.
 */
export function forwardedClient(
  { client, head }: Pick<Exchange, 'client' | 'head'>,
  trusted: TrustedProxies,
): ForwardedClient {
  if (!trusted.includes(client.address)) return { address: client.address, fields: nothing }
  const hops = trustworthyHops(head.headers.get('x-forwarded-for'), trusted)
  const [address] = hops
  if (address === undefined) return { address: client.address, fields: nothing }
  const protocol = head.headers.get('x-forwarded-proto')?.toLowerCase()
  const host = head.headers.get('x-forwarded-host')
  return {
    address,
    fields: [
      headerField('x-forwarded-for', [...hops, client.address].join(', ')),
      ...(protocol === 'http' || protocol === 'https' ? [headerField('x-forwarded-proto', protocol)] : []),
      ...(host !== undefined && hostForm.test(host) ? [headerField('x-forwarded-host', host)] : []),
    ],
  }
}

/** From the client on, in the order they were passed. */
function trustworthyHops(header: string | undefined, trusted: TrustedProxies): readonly string[] {
  const hops: string[] = []
  for (const hop of (header ?? '').split(',').toReversed()) {
    const address = hop.trim()
    if (isIP(address) === 0 || hops.length >= mostHops) break
    hops.unshift(address)
    if (!trusted.includes(address)) break
  }
  return hops
}
