import { StatusError } from '../../resources/status-error.ts'
import type { User } from './identity/user.ts'

/** What somebody wants to do with objects of a resource. */
export interface ResourceAttempt {
  readonly type: 'resource'
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

/** What somebody wants to do with a path that is not a resource, such as `/metrics`. */
export interface PathAttempt {
  readonly type: 'path'
  readonly verb: string
  readonly path: string
}

export type Attempt = ResourceAttempt | PathAttempt

export interface Decision {
  readonly allowed: boolean
  /** Why it was decided so; may be empty. */
  readonly reason: string
}

const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}
const namespaceSubresources = new Set(['status', 'finalize'])

/**
 * What a request attempts, read from its address alone, before it is known whether there is such a resource: somebody
 * who may not know what exists is not told. Addresses are read exactly as the real server reads them.
 */
export function attemptOf(method: string, segments: readonly string[], query: URLSearchParams): Attempt {
  const [root, second, third] = segments
  const path = () => ({ type: 'path' as const, verb: pathVerb(method), path: `/${segments.join('/')}` })
  if (root === 'api' && second !== undefined && third !== undefined)
    return inGroup(method, '', segments.slice(2), query)
  if (root === 'apis' && second !== undefined && third !== undefined && segments.length > 3) {
    return inGroup(method, second, segments.slice(3), query)
  }
  return path()
}

function pathVerb(method: string): string {
  return method === 'HEAD' ? 'get' : method.toLowerCase()
}

function inGroup(method: string, group: string, parts: readonly string[], query: URLSearchParams): ResourceAttempt {
  const { namespace, rest } = splitNamespace(parts)
  const [resource = '', ownName, subresource] = rest
  const name = ownName ?? (method === 'POST' ? undefined : selectedName(query))
  return { type: 'resource', verb: verbFor(method, ownName, query), group, resource, subresource, namespace, name }
}

function splitNamespace(parts: readonly string[]): { namespace?: string | undefined; rest: readonly string[] } {
  const [first, namespace, third] = parts
  if (first !== 'namespaces' || namespace === undefined) return { rest: parts }
  // A request about a Namespace itself counts as one inside that namespace.
  if (third === undefined || namespaceSubresources.has(third)) return { namespace, rest: parts }
  return { namespace, rest: parts.slice(2) }
}

function verbFor(method: string, name: string | undefined, query: URLSearchParams): string {
  const verb = verbs[method] ?? ''
  if (name !== undefined) return verb
  if (verb === 'get') {
    const watch = query.get('watch')
    return watch !== null && watch !== 'false' && watch !== '0' ? 'watch' : 'list'
  }
  return verb === 'delete' ? 'deletecollection' : verb
}

/** A list or watch of a single name, as `kubectl get -w NAME` sends it, is judged as a request for that name. */
function selectedName(query: URLSearchParams): string | undefined {
  const match = /^metadata\.name==?([^,=!]+)$/.exec(query.get('fieldSelector') ?? '')
  return match?.[1]
}

/** The 403 for this attempt, in the words that users of kubectl know. */
export function forbidden(user: User, attempt: Attempt, reason: string): StatusError {
  const because = reason === '' ? '' : `: ${reason}`
  const who = `User ${JSON.stringify(user.name)} cannot ${attempt.verb}`
  if (attempt.type === 'path') {
    return new StatusError('Forbidden', `forbidden: ${who} path ${JSON.stringify(attempt.path)}${because}`)
  }
  const { group, resource, subresource, namespace, name } = attempt
  const qualified = group === '' ? resource : `${resource}.${group}`
  const what = subresource === undefined ? resource : `${resource}/${subresource}`
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`
  const subject = name === undefined ? qualified : `${qualified} "${name}"`
  const message = `${subject} is forbidden: ${who} resource "${what}" in API group "${group}" ${where}${because}`
  return new StatusError('Forbidden', message, { name, group: group || undefined, kind: resource })
}
