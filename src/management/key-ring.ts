import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { ObjectCache } from '../cluster/informer.ts'
import type { ApiKey } from '../resources/api-key.ts'
import { type KeyPair, secretDigest } from './key-pair.ts'

/** Whose a presented pair is. `name` is that of the ApiKey with this access key, if there is one: for the log only. */
export type PairVerdict =
  | { readonly outcome: 'right' | 'disabled'; readonly name: string; readonly enterprise: string }
  | { readonly outcome: 'wrong'; readonly name: string | undefined }

interface HeldKey {
  /** None: nothing opens it. */
  readonly key: ApiKey | undefined
  readonly digest: Buffer
  /** While it is changed for another, the one before; else one that nobody has. */
  readonly previous: Buffer
}

export type Compare = (one: Buffer, other: Buffer) => boolean

/** Who may ask: the ApiKeys, by access key. */
export class KeyRing {
  readonly #keys: ObjectCache<ApiKey>
  readonly #now: () => number
  readonly #compare: Compare
  readonly #unsubscribe: () => void
  /** What nobody can present. */
  readonly #nobody = randomBytes(32)
  /** Compared with where there is no such key, so that every attempt costs the same work. */
  readonly #strangers: readonly HeldKey[] = [{ key: undefined, digest: this.#nobody, previous: this.#nobody }]
  #byAccessKey: ReadonlyMap<string, readonly HeldKey[]> | undefined

  constructor(keys: ObjectCache<ApiKey>, now: () => number, compare: Compare = timingSafeEqual) {
    this.#keys = keys
    this.#now = now
    this.#compare = compare
    this.#unsubscribe = keys.onChange(() => (this.#byAccessKey = undefined))
  }

  judge(presented: KeyPair): PairVerdict {
    const digest = secretDigest(presented.secretKey)
    const held = this.#index().get(presented.accessKey) ?? this.#strangers
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

  /** Both are compared, always: which of them it was, if any, is not to be seen. */
  #opens(presented: Buffer, { key, digest, previous }: HeldKey): boolean {
    const isCurrent = this.#compare(presented, digest)
    const isPrevious = this.#compare(presented, previous)
    return isCurrent || (isPrevious && !isOver(key?.spec.previousSecret?.expiresAt, this.#now()))
  }

  #index(): ReadonlyMap<string, readonly HeldKey[]> {
    this.#byAccessKey ??= Map.groupBy(
      // Keys for inference are given to programs: they open nothing here.
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

/** A time that cannot be read lets nobody in. */
function isOver(expiresAt: string | undefined, now: number): boolean {
  return expiresAt !== undefined && !(now < Date.parse(expiresAt))
}
