import { randomUUID } from 'node:crypto'
import type { KubernetesObject } from '../../../resources/kubernetes-object.ts'
import type { Store } from '../../../store/store.ts'
import { type JsonObject, isJsonObject, valueAtPath } from '../../../resources/json-value.ts'
import type { SigningKey } from './signing-key.ts'
import { type User, authenticated, serviceAccountGroups, serviceAccountUserName } from './user.ts'

/** The kinds of objects a token can be bound to: it becomes invalid when the object is deleted. */
export const boundKinds = {
  Pod: { resource: 'pods', claim: 'pod', namespaced: true },
  Secret: { resource: 'secrets', claim: 'secret', namespaced: true },
  Node: { resource: 'nodes', claim: 'node', namespaced: false },
} as const

export type BoundKind = keyof typeof boundKinds

export interface TokenWish {
  readonly account: KubernetesObject
  readonly audiences: readonly string[]
  readonly expirationSeconds: number
  readonly bound?: { readonly kind: BoundKind; readonly object: KubernetesObject } | undefined
  /** In milliseconds. */
  readonly now: number
}

/** A token together with its SHA-256 digest. */
export interface OfferedToken {
  readonly token: string
  readonly digest: Buffer
}

export interface KnownToken {
  readonly user: User
  /** Those of the requested audiences that the token is valid for. */
  readonly audiences: readonly string[]
}

const mostRemembered = 2_000

/**
 * Issues and verifies tokens of service accounts. A token is valid as long as the objects it names exist, with the same
 * uid. Nothing is stored about tokens, so deleting the account (or the Pod a token is bound to) revokes it.
 */
export class ServiceAccountTokens {
  readonly issuer: string
  readonly key: SigningKey
  readonly #store: Store
  /**
   * Claims whose signature was checked, by the digest of their token: checking one costs more than the rest of a
   * request.
   */
  readonly #checked = new Map<string, JsonObject>()

  constructor(options: { readonly issuer: string; readonly key: SigningKey; readonly store: Store }) {
    this.issuer = options.issuer
    this.key = options.key
    this.#store = options.store
  }

  /** The audiences of a token for which none were requested. */
  get defaultAudiences(): readonly string[] {
    return [this.issuer]
  }

  issue({ account, audiences, expirationSeconds, bound, now }: TokenWish): string {
    const { namespace = '', name, uid } = account.metadata
    const issuedAt = Math.floor(now / 1000)
    const boundTo = bound && {
      [boundKinds[bound.kind].claim]: { name: bound.object.metadata.name, uid: bound.object.metadata.uid },
      ...(bound.kind === 'Pod' && this.#nodeOf(bound.object)),
    }
    return this.key.sign({
      aud: audiences,
      exp: issuedAt + expirationSeconds,
      iat: issuedAt,
      iss: this.issuer,
      jti: randomUUID(),
      'kubernetes.io': { namespace, ...boundTo, serviceaccount: { name, uid } },
      nbf: issuedAt,
      sub: serviceAccountUserName(namespace, name),
    })
  }

  /** The node of a Pod, named in the Pod's token for information; the token ends with the Pod, not with the node. */
  #nodeOf(pod: KubernetesObject): JsonObject {
    const name = valueAtPath(pod, ['spec', 'nodeName'])
    if (typeof name !== 'string' || name === '') return {}
    return { node: { name, uid: this.#store.get({ resource: 'nodes', namespace: '', name })?.object.metadata.uid } }
  }

  /** Whose token it is and for which audiences; `undefined` when it is not valid, or no longer. */
  verify(token: OfferedToken, now: number, audiences = this.defaultAudiences): KnownToken | undefined {
    const claims = this.#claims(token)
    if (!claims || claims['iss'] !== this.issuer || !isCurrent(claims, now)) return undefined
    const offered = Array.isArray(claims['aud']) ? claims['aud'] : [claims['aud']]
    const common = audiences.filter((audience) => offered.includes(audience))
    const user = common.length > 0 ? this.#userOf(claims) : undefined
    return user && { user, audiences: common }
  }

  #claims(token: OfferedToken): JsonObject | undefined {
    const digest = token.digest.toString('latin1')
    const known = this.#checked.get(digest)
    if (known) return known
    const claims = this.key.verify(token.token)
    if (!claims) return undefined
    if (this.#checked.size >= mostRemembered) {
      for (const oldest of this.#checked.keys()) {
        this.#checked.delete(oldest)
        break
      }
    }
    this.#checked.set(digest, claims)
    return claims
  }

  #userOf(claims: JsonObject): User | undefined {
    const about = claims['kubernetes.io']
    const account = isJsonObject(about) ? about['serviceaccount'] : undefined
    if (!isJsonObject(about) || !isJsonObject(account)) return undefined
    const { namespace } = about
    const { name, uid } = account
    if (typeof namespace !== 'string' || typeof name !== 'string' || typeof uid !== 'string') return undefined
    if (claims['sub'] !== serviceAccountUserName(namespace, name)) return undefined
    if (!this.#isThere('serviceaccounts', namespace, account)) return undefined
    const extra: Record<string, string[]> = {
      'authentication.kubernetes.io/credential-id': [`JTI=${String(claims['jti'])}`],
    }
    for (const { resource, claim, namespaced } of Object.values(boundKinds)) {
      const bound = about[claim]
      if (!isJsonObject(bound)) continue
      const isOnlySaid = claim === 'node' && isJsonObject(about['pod'])
      if (!isOnlySaid && !this.#isThere(resource, namespaced ? namespace : '', bound)) return undefined
      if (claim === 'secret') continue
      for (const part of ['name', 'uid']) {
        const said = bound[part]
        if (typeof said === 'string') extra[`authentication.kubernetes.io/${claim}-${part}`] = [said]
      }
    }
    const user = { name: serviceAccountUserName(namespace, name), uid, groups: serviceAccountGroups(namespace), extra }
    return authenticated(user)
  }

  /** Whether the object still exists, and is not another one that was created later under the same name. */
  #isThere(resource: string, namespace: string, { name, uid }: JsonObject): boolean {
    if (typeof name !== 'string' || typeof uid !== 'string') return false
    const metadata = this.#store.get({ resource, namespace, name })?.object.metadata
    return metadata?.uid === uid && (resource !== 'serviceaccounts' || metadata.deletionTimestamp === undefined)
  }
}

function isCurrent(claims: JsonObject, now: number): boolean {
  const expires = valueAtPath(claims, ['exp'])
  const begins = valueAtPath(claims, ['nbf'])
  const seconds = now / 1000
  return typeof expires === 'number' && typeof begins === 'number' && begins <= seconds && seconds < expires
}
