import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

/** More than there are proxies in front of anything. */
const most = 16

/** Where a request comes from, read as the real server reads it: what proxies said, then the connection itself. */
export function sourceIPsOf({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>): readonly string[] {
  const own = plain(socket.remoteAddress ?? '')
  const sources = addressesIn(headers['x-forwarded-for']).slice(-most)
  const [real] = addressesIn(headers['x-real-ip'])
  if (real !== undefined && !sources.includes(real)) sources.push(real)
  if (own !== '' && sources.at(-1) !== own) sources.push(own)
  return sources
}

function addressesIn(header: string | string[] | undefined): string[] {
  if (header === undefined) return []
  return String(header)
    .split(',')
    .map((part) => part.trim())
    .filter((part) => isIP(part) !== 0)
}

/** An IPv4 address of a listener that takes both families. */
function plain(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
}
