import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { ObjectCache } from '../cluster/informer.ts'
import { SluiceError } from '../foundation/errors.ts'
import type { ApiKey } from '../resources/api-key.ts'
import { type KeyPair, secretDigest } from './key-pair.ts'

/** Who may ask: the ApiKeys, by access key. */
export class KeyRing {
  readonly #keys: ObjectCache<ApiKey>
  readonly #now: () => number
  readonly #unsubscribe: () => void
  /** Compared with when there is no such key, so that an unknown key costs the same work as a wrong secret. */
  readonly #nobody = randomBytes(32)
  #byAccessKey: ReadonlyMap<string, readonly ApiKey[]> | undefined

  constructor(keys: ObjectCache<ApiKey>, now: () => number) {
    this.#keys = keys
    this.#now = now
    this.#unsubscribe = keys.onChange(() => (this.#byAccessKey = undefined))
  }

  /**
   * The enterprise of the key. One and the same refusal for whatever is wrong with the pair, so that nothing can be
   * probed.
   */
  authenticate(presented: KeyPair | undefined): string {
    const digest = secretDigest(presented?.secretKey ?? '')
    const candidates = (presented && this.#index().get(presented.accessKey)) ?? []
    let match: ApiKey | undefined
    for (const key of candidates) {
      if (timingSafeEqual(digest, Buffer.from(key.spec.secretSha256, 'hex'))) match = key
    }
    if (candidates.length === 0) timingSafeEqual(digest, this.#nobody)
    if (match === undefined || this.#isExpired(match)) throw new SluiceError('credential_refused')
    if (match.spec.disabled) throw new SluiceError('key_disabled')
    return match.spec.enterprise
  }

  close(): void {
    this.#unsubscribe()
  }

  #index(): ReadonlyMap<string, readonly ApiKey[]> {
    // Keys for inference are given to programs: they open nothing here.
    const keys = () => this.#keys.list().filter(({ spec }) => spec.use !== 'Inference')
    return (this.#byAccessKey ??= Map.groupBy(keys(), (key) => key.spec.accessKey))
  }

  #isExpired({ spec: { expiresAt } }: ApiKey): boolean {
    // A time that cannot be read lets nobody in.
    return expiresAt !== undefined && !(this.#now() < Date.parse(expiresAt))
  }
}
