import type { Answer, HeaderPairs } from '../../relay/exchange.ts'
import { headerField, type HeaderList } from '../../relay/http/header-list.ts'
import { ignoredParametersName } from './ignored-parameters.ts'

const headerNames = /^[A-Za-z0-9-]{1,64}(?: ?, ?[A-Za-z0-9-]{1,64}){0,63}$/

/** Pages of any origin may use this API: it has no cookies, and a page has to send a key on purpose. */
export const allowOrigin = headerField('access-control-allow-origin', '*')
export const exposeHeaders = headerField(
  'access-control-expose-headers',
  `x-request-id, retry-after, x-should-retry, ${ignoredParametersName}`,
)

export const corsHeaders: HeaderPairs = [allowOrigin, exposeHeaders].map(({ name, value }) => [name, value])

export function isPreflight(method: string, headers: HeaderList): boolean {
  return method === 'OPTIONS' && headers.get('access-control-request-method') !== undefined
}

export function preflightAnswer(headers: HeaderList, methods: readonly string[] | 'any'): Answer {
  const asked = headers.get('access-control-request-headers')
  const allowedMethods = methods === 'any' ? 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS' : methods.join(', ')
  // `*` does not cover Authorization, so the requested headers are listed.
  const allowedHeaders = asked !== undefined && headerNames.test(asked) ? asked : 'authorization, content-type'
  return {
    status: 204,
    headers: [
      ['access-control-allow-origin', '*'],
      ['access-control-allow-methods', allowedMethods],
      ['access-control-allow-headers', allowedHeaders],
      ['access-control-max-age', '86400'],
      ['vary', 'access-control-request-headers'],
    ],
  }
}
