import type { Kind } from '../resources/kind.ts'
import { StatusError } from '../resources/status-error.ts'
import { isPathSegmentName } from './names.ts'

export interface RequestUrl {
  readonly segments: readonly string[]
  readonly query: URLSearchParams
}

export interface ResourceTarget {
  readonly kind: Kind
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

const longestUrl = 16 * 1024

/** Takes a request target apart. Nothing in it can climb: a segment is a name or the request is refused. */
export function parseRequestUrl(target: string): RequestUrl {
  if (target.length > longestUrl) throw new StatusError('BadRequest', `the URL is longer than ${longestUrl} characters`)
  const question = target.indexOf('?')
  const path = question < 0 ? target : target.slice(0, question)
  if (!path.startsWith('/')) throw new StatusError('BadRequest', 'the request target must be a path')
  const raw = path.slice(1).replace(/\/$/, '')
  const segments = raw === '' ? [] : raw.split('/').map((segment) => decodeSegment(segment))
  return { segments, query: new URLSearchParams(question < 0 ? '' : target.slice(question + 1)) }
}

function decodeSegment(segment: string): string {
  let name: string
  try {
    name = decodeURIComponent(segment)
  } catch {
    throw new StatusError('BadRequest', 'the path is not valid percent-encoding')
  }
  if (!isPathSegmentName(name)) throw new StatusError('BadRequest', 'the path has a segment that cannot be a name')
  return name
}

/** `/api/v1/…` or `/apis/<group>/<version>/…` → what it is about; `undefined` when no such thing is served. */
export function parseResourcePath(kinds: readonly Kind[], segments: readonly string[]): ResourceTarget | undefined {
  const [root, ...path] = segments
  if (root === 'api') return parseInGroup(kinds, '', path)
  const [group = '', ...rest] = path
  return root === 'apis' && group !== '' ? parseInGroup(kinds, group, rest) : undefined
}

function parseInGroup(
  kinds: readonly Kind[],
  group: string,
  [version, ...path]: readonly string[],
): ResourceTarget | undefined {
  const served = kinds.filter((kind) => kind.group === group && kind.version === version)
  const [first, namespace, plural, ...rest] = path
  if (first === 'namespaces' && namespace !== undefined && plural !== undefined) {
    const kind = served.find((candidate) => candidate.plural === plural && candidate.namespaced)
    if (kind) return target(kind, namespace, rest)
  }
  const kind = served.find((candidate) => candidate.plural === first)
  if (!kind) return undefined
  // A namespaced object is only reached through its namespace; across namespaces there are only lists.
  if (kind.namespaced && path.length > 1) return undefined
  return target(kind, undefined, path.slice(1))
}

function target(kind: Kind, namespace: string | undefined, rest: readonly string[]): ResourceTarget | undefined {
  const [name, subresource, ...beyond] = rest
  if (beyond.length > 0 && subresource !== 'proxy') return undefined
  return { kind, namespace, name, subresource }
}
