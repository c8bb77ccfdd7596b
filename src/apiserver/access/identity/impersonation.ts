import type { IncomingMessage } from 'node:http'
import { StatusError } from '../../../resources/status-error.ts'
import { type ResourceAttempt, forbidden } from '../attempt.ts'
import type { Authorizer } from '../roles/rbac-authorizer.ts'
import { type User, anonymous, authenticated, serviceAccountGroups, serviceAccountOf } from './user.ts'

interface Wish {
  readonly name: string
  readonly uid: string | undefined
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

const extraPrefix = 'impersonate-extra-'

/**
 * The user that a request asks to be made as, by its `Impersonate-*` headers, if the actual user may `impersonate` each
 * part.
 */
export function impersonated(user: User, request: IncomingMessage, authorizer: Authorizer): User {
  const wish = readWish(request)
  if (!wish) return user
  for (const attempt of attemptsFor(wish)) {
    const { allowed, reason } = authorizer.decide(user, attempt)
    if (!allowed) throw forbidden(user, attempt, reason)
  }
  const { name, uid, extra } = wish
  const groups = groupsOf(wish)
  const other = { name, uid, groups, extra }
  return name === anonymous.name ? other : authenticated(other)
}

function groupsOf({ name, groups }: Wish): readonly string[] {
  if (groups.length > 0) return groups
  if (name === anonymous.name) return anonymous.groups
  const account = serviceAccountOf(name)
  return account ? serviceAccountGroups(account.namespace) : []
}

function readWish(request: IncomingMessage): Wish | undefined {
  const { headers } = request
  // Checked first because hardly any request impersonates, and reading the headers as lists costs every request.
  if (!asksForIt(request.rawHeaders)) return undefined
  const { headersDistinct } = request
  const [name] = headersDistinct['impersonate-user'] ?? []
  const [uid] = headersDistinct['impersonate-uid'] ?? []
  const groups = headersDistinct['impersonate-group'] ?? []
  const extra: Record<string, readonly string[]> = {}
  for (const header of Object.keys(headers)) {
    if (header.startsWith(extraPrefix))
      extra[decodeKey(header.slice(extraPrefix.length))] = headersDistinct[header] ?? []
  }
  if (name) return { name, uid, groups, extra }
  if (uid === undefined && groups.length === 0 && Object.keys(extra).length === 0) return undefined
  throw new StatusError('BadRequest', 'groups, uid and extra cannot be impersonated without impersonating a user')
}

function asksForIt(rawHeaders: readonly string[]): boolean {
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if ((name.startsWith('I') || name.startsWith('i')) && name.toLowerCase().startsWith('impersonate-')) return true
  }
  return false
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

function* attemptsFor({ name, uid, groups, extra }: Wish): Generator<ResourceAttempt> {
  const account = serviceAccountOf(name)
  if (account) yield attempt('', 'serviceaccounts', account.name, { namespace: account.namespace })
  else yield attempt('', 'users', name)
  for (const group of groups) yield attempt('', 'groups', group)
  for (const [key, values] of Object.entries(extra)) {
    for (const value of values) yield attempt('authentication.k8s.io', 'userextras', value, { subresource: key })
  }
  if (uid !== undefined) yield attempt('authentication.k8s.io', 'uids', uid)
}

function attempt(group: string, resource: string, name: string, more: Partial<ResourceAttempt> = {}): ResourceAttempt {
  return { type: 'resource', verb: 'impersonate', group, resource, name, ...more }
}
