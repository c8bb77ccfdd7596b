import type { IncomingMessage, ServerResponse } from 'node:http'
import { SluiceError } from '../../foundation/errors.ts'
import type { ConsoleUser } from './session/console-access.ts'
import { consoleApiPrefix } from './session/session-cookie.ts'

export interface ConsoleRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly user: ConsoleUser
  readonly query: URLSearchParams
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  /** Called for an answer that goes on: it then ends with the session or the key of its reader, and with the server. */
  readonly keepOpen: () => void
  /** A part of the path, by the name that the route's pattern has for it. */
  readonly param: (name: string) => string
}

export interface ConsoleRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Segments after the prefix; `:name` stands for any one. */
  readonly pattern: string
  /** Returns the `data` of the answer, or `answered` if it has answered itself. */
  run(asked: ConsoleRequest): unknown
}

/** Returned by a route that has written its answer itself. */
export const answered = Symbol('answered')

export interface FoundRoute {
  readonly route: ConsoleRoute
  readonly params: ReadonlyMap<string, string>
}

export function findRoute(routes: readonly ConsoleRoute[], method: string, path: string): FoundRoute {
  const asked = path.slice(consoleApiPrefix.length).split('/')
  const matching = routes.flatMap((route) => {
    const params = paramsOf(route.pattern.split('/'), asked)
    return params ? [{ route, params }] : []
  })
  if (matching.length === 0) throw new SluiceError('management_route_not_found', { path })
  const found = matching.find(({ route }) => route.method === method)
  if (found) return found
  const allowed = matching.map(({ route }) => route.method).join(', ')
  throw new SluiceError('method_not_allowed', { path, method, allowed })
}

function paramsOf(pattern: readonly string[], asked: readonly string[]): ReadonlyMap<string, string> | undefined {
  if (pattern.length !== asked.length) return undefined
  const params = new Map<string, string>()
  for (const [at, part] of pattern.entries()) {
    const given = decoded(asked[at] ?? '')
    if (part.startsWith(':') && given) params.set(part.slice(1), given)
    else if (part !== given) return undefined
  }
  return params
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
