import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'

export interface User {
  readonly name: string
  readonly groups: readonly string[]
}

/** What a client proves itself with. A certificate counts only if the listener's CA signed it. */
export type Credential =
  | { readonly type: 'token'; readonly token: string }
  | { readonly type: 'certificate'; readonly commonName: string; readonly organizations: readonly string[] }

/** Who it is, or `undefined` when the credential is not known. */
export type Authenticator = (credential: Credential) => User | undefined

/** What somebody wants to do. */
export interface Attempt {
  readonly user: User
  readonly verb: string
  /** `plural.group`, or a path for requests that are not about resources. */
  readonly resource: string
  readonly subresource?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

/** A seam for role-based access: answers why not, or `undefined` to allow. Until there are roles, whoever is known may do everything. */
export type Authorizer = (attempt: Attempt) => string | undefined

export const allowEverything: Authorizer = () => undefined

const digest = (text: string) => createHash('sha256').update(text).digest()

/** Compares digests in constant time, and always all of them, so that the time taken says nothing. */
export function knownTokens(entries: ReadonlyArray<{ readonly token: string; readonly user: User }>): Authenticator {
  const known = entries.map(({ token, user }) => ({ digest: digest(token), user }))
  return (credential) => {
    if (credential.type !== 'token') return undefined
    const offered = digest(credential.token)
    let found: User | undefined
    for (const entry of known) if (timingSafeEqual(entry.digest, offered)) found = entry.user
    return found
  }
}

/** The subject of a client certificate is the user, as with Kubernetes: the common name and, as groups, the organizations. */
export const certificateUsers: Authenticator = (credential) =>
  credential.type === 'certificate' ? { name: credential.commonName, groups: credential.organizations } : undefined

export function firstKnown(...authenticators: readonly Authenticator[]): Authenticator {
  return (credential) => {
    for (const authenticate of authenticators) {
      const user = authenticate(credential)
      if (user) return user
    }
    return undefined
  }
}

/** The token of the header, else the verified certificate of the connection. */
export function credentialOf(request: IncomingMessage): Credential | undefined {
  const match = /^Bearer +([^\s]+)$/i.exec(request.headers.authorization ?? '')
  if (match?.[1] !== undefined) return { type: 'token', token: match[1] }
  // A header of another scheme is an attempt that failed, not a reason to look further.
  if (request.headers.authorization !== undefined) return undefined
  const { socket } = request
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  const subject: unknown = socket.getPeerCertificate().subject
  if (typeof subject !== 'object' || subject === null || !('CN' in subject) || typeof subject.CN !== 'string')
    return undefined
  const organizations: unknown = 'O' in subject ? subject.O : []
  const list = Array.isArray(organizations) ? organizations : [organizations]
  return {
    type: 'certificate',
    commonName: subject.CN,
    organizations: list.filter((organization) => typeof organization === 'string'),
  }
}
