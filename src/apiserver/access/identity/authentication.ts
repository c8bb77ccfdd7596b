import { X509Certificate, hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import type { ServiceAccountTokens } from './service-account-tokens.ts'
import { type User, authenticated } from './user.ts'

export type { User }

export interface ClientCertificate {
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly certificate: X509Certificate
}

/** A bearer token. It is compared by its digest, so that no comparison takes a time that depends on the secret. */
export class TokenCredential {
  readonly type = 'token'
  readonly token: string
  #digest: Buffer | undefined

  constructor(token: string) {
    this.token = token
  }

  get digest(): Buffer {
    return (this.#digest ??= digestOf(this.token))
  }
}

/** What a client proves its identity with. */
export type Credential =
  | TokenCredential
  /** The TLS handshake has already checked the chain, the dates and the purpose of the certificate. */
  | ({ readonly type: 'certificate' } & ClientCertificate)

/** The user that a credential belongs to, or `undefined` when the credential is not known. */
export type Authenticator = (credential: Credential) => User | undefined

const digestOf = (text: string) => hash('sha256', text, 'buffer')

/** Compares digests in constant time, and always all of them, so that the time taken reveals nothing. */
export function knownTokens(entries: ReadonlyArray<{ readonly token: string; readonly user: User }>): Authenticator {
  const known = entries.map(({ token, user }) => ({ digest: digestOf(token), user: authenticated(user) }))
  return (credential) => {
    if (credential.type !== 'token') return undefined
    const offered = credential.digest
    let found: User | undefined
    for (const entry of known) if (timingSafeEqual(entry.digest, offered)) found = entry.user
    return found
  }
}

/**
 * Takes users from client certificates as Kubernetes does: the common name is the user, the organizations are the
 * groups. A certificate counts only if this cluster's authority (PEM) signed it, since one listener serves several
 * clusters.
 */
export function certificateUsers(authority: string): Authenticator {
  const { publicKey } = new X509Certificate(authority)
  // Certificates live as long as their connections, so the users found for them are kept as long.
  const users = new WeakMap<X509Certificate, User | 'unknown'>()
  return (credential) => {
    if (credential.type !== 'certificate') return undefined
    const { certificate, commonName, organizations } = credential
    let user = users.get(certificate)
    if (user === undefined) {
      const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
      const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] }
      user = certificate.verify(publicKey)
        ? authenticated({ name: commonName, groups: organizations, extra })
        : 'unknown'
      users.set(certificate, user)
    }
    return user === 'unknown' ? undefined : user
  }
}

/** Takes users from the tokens that the cluster itself has issued to service accounts. */
export function serviceAccountUsers(tokens: ServiceAccountTokens, now: () => number): Authenticator {
  return (credential) => (credential.type === 'token' ? tokens.verify(credential, now())?.user : undefined)
}

export function firstKnown(...authenticators: readonly Authenticator[]): Authenticator {
  return (credential) => {
    for (const authenticate of authenticators) {
      const user = authenticate(credential)
      if (user) return user
    }
    return undefined
  }
}

export interface ShownCredentials {
  readonly credentials: readonly Credential[]
  /**
   * Whether any credential was shown. A credential that is not accepted is refused; showing none at all means
   * anonymous.
   */
  readonly any: boolean
}

/** The certificate of the connection first, then the token of the header. */
export function credentialsOf(request: IncomingMessage): ShownCredentials {
  const certificate = certificateOf(request)
  const token = tokenOf(request)
  const credentials: Credential[] = []
  if (certificate && certificate !== 'unverified') credentials.push({ type: 'certificate', ...certificate })
  if (token) credentials.push(token)
  return { credentials, any: credentials.length > 0 || certificate === 'unverified' }
}

const tokens = new WeakMap<object, { readonly header: string; readonly token: TokenCredential | undefined }>()

/** A connection sends the same header with every request, so it is parsed and digested only once. */
function tokenOf({ socket, headers }: IncomingMessage): TokenCredential | undefined {
  const header = headers.authorization
  if (header === undefined) return undefined
  let known = tokens.get(socket)
  if (known?.header !== header) {
    const token = /^Bearer +([^\s]+)$/i.exec(header)?.[1]
    known = { header, token: token === undefined ? undefined : new TokenCredential(token) }
    tokens.set(socket, known)
  }
  return known.token
}

type ConnectionCertificate = ClientCertificate | 'unverified' | undefined

const certificates = new WeakMap<TLSSocket, { readonly found: ConnectionCertificate }>()

function certificateOf({ socket }: IncomingMessage): ConnectionCertificate {
  if (!(socket instanceof TLSSocket)) return undefined
  let known = certificates.get(socket)
  if (!known) certificates.set(socket, (known = { found: readCertificate(socket) }))
  return known.found
}

function readCertificate(socket: TLSSocket): ConnectionCertificate {
  const certificate = socket.getPeerX509Certificate()
  if (!certificate) return undefined
  if (!socket.authorized) return 'unverified'
  const subject: unknown = socket.getPeerCertificate().subject
  if (typeof subject !== 'object' || subject === null || !('CN' in subject) || typeof subject.CN !== 'string')
    return 'unverified'
  const organizations: unknown = 'O' in subject ? subject.O : []
  const list = Array.isArray(organizations) ? organizations : [organizations]
  return {
    commonName: subject.CN,
    organizations: list.filter((organization) => typeof organization === 'string'),
    certificate,
  }
}
