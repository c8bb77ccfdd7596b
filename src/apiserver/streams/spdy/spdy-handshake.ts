import { StatusError } from '../../../resources/status-error.ts'
import type { HttpExchange } from '../../http/http-exchange.ts'

const versionHeader = 'X-Stream-Protocol-Version'

/** The headers of the 101 for a SPDY/3.1 client, with the first of its protocols that is `supported`. */
export function spdyHandshake(
  { request, response }: HttpExchange,
  supported: readonly string[],
): Record<string, string> {
  const offered = (request.headersDistinct[versionHeader.toLowerCase()] ?? [])
    .flatMap((line) => line.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '')
  const agreed = offered.find((name) => supported.includes(name))
  if (agreed === undefined) {
    for (const name of supported) response.appendHeader('X-Accepted-Stream-Protocol-Versions', name)
    const clients = offered.slice(0, 16).map((name) => name.slice(0, 64))
    throw new StatusError(
      'Forbidden',
      `unable to upgrade: unable to negotiate protocol: client supports [${clients.join(' ')}], server accepts [${supported.join(' ')}]`,
    )
  }
  return { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', [versionHeader]: agreed }
}
