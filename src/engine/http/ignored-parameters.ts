import { SluiceError } from '../../foundation/errors.ts'
import { ignoredParameters, type RequestKind } from '../requests/supported-parameters.ts'
import type { Exchange } from './exchange.ts'

const mostNamed = 32

/**
 * Says in a header of the answer which parameters of the request have no effect. Clients of other servers send many
 * that do no harm; whoever wants to know instead sends `x-sluice-strict: true`, and is refused.
 */
export function tellIgnored(kind: RequestKind, body: unknown, { request, response }: Exchange): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return
  const ignored = ignoredParameters(kind, { ...body })
  const [param] = ignored
  if (param === undefined) return
  if (String(request.headers['x-sluice-strict']).toLowerCase() === 'true') {
    throw new SluiceError('unsupported_parameter', { param, reason: 'this engine does not know it' })
  }
  const shown = ignored.slice(0, mostNamed).map((name) => name.slice(0, 64).replaceAll(/[^\w.-]/g, '?'))
  response.setHeader('x-sluice-ignored-parameters', shown.join(', '))
}
