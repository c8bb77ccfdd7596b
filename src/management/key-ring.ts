import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { ObjectCache } from '../cluster/informer.ts'
import type { ApiKey } from '../resources/api-key.ts'
import { type KeyPair, secretDigest } from './key-pair.ts'

/** Whom a key pair belongs to. `name` is the ApiKey with this access key, if there is one; it is only for the log. */
export type PairVerdict =
  | { readonly outcome: 'right' | 'disabled'; readonly name: string; readonly enterprise: string }
  | { readonly outcome: 'wrong'; readonly name: string | undefined }

/** What was presented, without the secret itself. */
export interface KeyProof {
  readonly accessKey: string
  readonly digest: Buffer
}

/** Whose key it is. */
export interface KeyHolder {
  /** Of the ApiKey. */
  readonly name: string
  readonly enterprise: string
}

export interface ProvenKey {
  readonly holder: KeyHolder
  readonly proof: KeyProof
}

interface HeldKey {
  /** `undefined` for an access key that does not exist. */
  readonly key: ApiKey | undefined
  readonly digest: Buffer
  /** During a rotation, the previous secret's hash; otherwise one that no secret has. */
  readonly previous: Buffer
}

export type Compare = (one: Buffer, other: Buffer) => boolean

/** Decides whether a key pair is valid. Finds ApiKeys by their access key. */
export class KeyRing {
  readonly #keys: ObjectCache<ApiKey>
  readonly #now: () => number
  readonly #compare: Compare
  readonly #unsubscribe: () => void
  /** A hash that no secret has. */
  readonly #nobody = randomBytes(32)
  /** Compared if there is no such key, so that every attempt takes the same work. */
  readonly #strangers: readonly HeldKey[] = [{ key: undefined, digest: this.#nobody, previous: this.#nobody }]
  #byAccessKey: ReadonlyMap<string, readonly HeldKey[]> | undefined

  constructor(keys: ObjectCache<ApiKey>, now: () => number, compare: Compare = timingSafeEqual) {
    this.#keys = keys
    this.#now = now
    this.#compare = compare
    this.#unsubscribe = keys.onChange(() => (this.#byAccessKey = undefined))
  }

  judge(presented: KeyPair): PairVerdict {
    return this.judgeProof(proofOf(presented))
  }

  judgeProof({ accessKey, digest }: KeyProof): PairVerdict {
    const held = this.#index().get(accessKey) ?? this.#strangers
    let match: ApiKey | undefined
    for (const one of held) if (this.#opens(digest, one)) match = one.key
    if (match === undefined || isOver(match.spec.expiresAt, this.#now())) {
      return { outcome: 'wrong', name: held[0]?.key?.metadata.name }
    }
    const { metadata, spec } = match
    return { outcome: spec.disabled ? 'disabled' : 'right', name: metadata.name, enterprise: spec.enterprise }
  }

  close(): void {
    this.#unsubscribe()
  }

  /** Always compares both, so that timing does not show which one matched, if any. */
  #opens(presented: Buffer, { key, digest, previous }: HeldKey): boolean {
    const isCurrent = this.#compare(presented, digest)
    const isPrevious = this.#compare(presented, previous)
    return isCurrent || (isPrevious && !isOver(key?.spec.previousSecret?.expiresAt, this.#now()))
  }

  #index(): ReadonlyMap<string, readonly HeldKey[]> {
    this.#byAccessKey ??= Map.groupBy(
      // Keys for inference are given to programs, and are not valid here.
      this.#keys
        .list()
        .filter(({ spec }) => spec.use !== 'Inference')
        .map((key) => this.#held(key)),
      ({ key }) => key?.spec.accessKey ?? '',
    )
    return this.#byAccessKey
  }

  #held(key: ApiKey): HeldKey {
    const { secretSha256, previousSecret } = key.spec
    const previous = previousSecret ? Buffer.from(previousSecret.sha256, 'hex') : this.#nobody
    return { key, digest: Buffer.from(secretSha256, 'hex'), previous }
  }
}

export function proofOf({ accessKey, secretKey }: KeyPair): KeyProof {
  return { accessKey, digest: secretDigest(secretKey) }
}

/** A time that cannot be parsed counts as over. */
function isOver(expiresAt: string | undefined, now: number): boolean {
  return expiresAt !== undefined && !(now < Date.parse(expiresAt))
}
