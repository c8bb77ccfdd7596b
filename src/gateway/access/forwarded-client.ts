import { isIP } from 'node:net'
import type { Exchange } from '../../relay/exchange.ts'
import type { HeaderField } from '../../relay/http/header-field.ts'
import { headerField } from '../../relay/http/header-list.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** The client behind a request, and what the model's server is told about it. */
export interface ForwardedClient {
  readonly address: string
  /** The `x-forwarded-*` fields that differ from those the relay sets itself. */
  readonly fields: readonly HeaderField[]
}

const mostHops = 32
const hostForm = /^(?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/
const nothing: readonly HeaderField[] = []

/**
 * Finds the client behind trusted proxies: `x-forwarded-for` is read from its end, and the first address that is not
 * trusted is the client. Anybody may have written what stands before it.
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

/** From the client to the last proxy. */
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
