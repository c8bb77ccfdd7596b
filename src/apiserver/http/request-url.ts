import type { Kind } from '../../resources/kind.ts'
import { StatusError } from '../../resources/status-error.ts'
import { isPathSegmentName } from '../writing/names.ts'

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
/** Shared, and never changed. */
const noQuery = new URLSearchParams()

/** Parses a request target. Every segment must be a plain name, so that nothing can climb out of its path. */
export function parseRequestUrl(target: string): RequestUrl {
  if (target.length > longestUrl) throw new StatusError('BadRequest', `the URL is longer than ${longestUrl} characters`)
  const question = target.indexOf('?')
  const path = question < 0 ? target : target.slice(0, question)
  if (!path.startsWith('/')) throw new StatusError('BadRequest', 'the request target must be a path')
  const raw = path.endsWith('/') ? path.slice(1, -1) : path.slice(1)
  const segments = raw === '' ? [] : raw.split('/').map((segment) => decodeSegment(segment))
  return { segments, query: question < 0 ? noQuery : new URLSearchParams(target.slice(question + 1)) }
}

/** Matches most segments, which need neither decoding nor refusing. */
const plainSegment = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/

function decodeSegment(segment: string): string {
  if (plainSegment.test(segment)) return segment
  let name: string
  try {
    name = decodeURIComponent(segment)
  } catch {
    throw new StatusError('BadRequest', 'the path is not valid percent-encoding')
  }
  if (!isPathSegmentName(name)) throw new StatusError('BadRequest', 'the path has a segment that cannot be a name')
  return name
}

/** Finds the kind of a resource; `undefined` when it is not served. */
export interface ServedKinds {
  find(group: string, version: string, plural: string): Kind | undefined
}

/** What `/api/v1/…` or `/apis/<group>/<version>/…` refers to; `undefined` when no such thing is served. */
export function parseResourcePath(kinds: ServedKinds, segments: readonly string[]): ResourceTarget | undefined {
  const [root, second = '', third] = segments
  if (root === 'api') return parseInGroup(kinds, '', second, segments.slice(2))
  if (root !== 'apis' || second === '' || third === undefined) return undefined
  return parseInGroup(kinds, second, third, segments.slice(3))
}

function parseInGroup(
  kinds: ServedKinds,
  group: string,
  version: string,
  path: readonly string[],
): ResourceTarget | undefined {
  const [first, namespace, plural] = path
  if (first === undefined) return undefined
  if (first === 'namespaces' && namespace !== undefined && plural !== undefined) {
    const kind = kinds.find(group, version, plural)
    if (kind?.namespaced) return target(kind, namespace, path.slice(3))
  }
  const kind = kinds.find(group, version, first)
  if (!kind) return undefined
  // A namespaced object is only reached through its namespace; across namespaces there are only lists.
  if (kind.namespaced && path.length > 1) return undefined
  return target(kind, undefined, path.slice(1))
}

function target(kind: Kind, namespace: string | undefined, rest: readonly string[]): ResourceTarget | undefined {
  const [name, subresource] = rest
  if (rest.length > 2 && subresource !== 'proxy') return undefined
  return { kind, namespace, name, subresource }
}
