import { randomBytes, timingSafeEqual } from 'node:crypto'
import { SluiceError } from '../../foundation/errors.ts'
import type { HeaderList } from '../../relay/http/header-list.ts'
import type { ApiKey } from '../../resources/api-key.ts'
import { readBearerKey, secretDigest } from './bearer-key.ts'
import { type Grant, notSeenYet } from './granted-models.ts'

/** The source of keys: a cache that follows the cluster. */
export interface KeySource {
  readonly synced: boolean
  list(): readonly ApiKey[]
  /** Calls back when a key changed; returns a function that unsubscribes. */
  onChange(listener: () => void): () => void
}

interface KnownKey {
  readonly digest: Buffer
  readonly expiresAtMs: number
  readonly disabled: boolean
  readonly grant: Grant
}

/** Checks the API keys of requests. A changed key counts from the next request on. */
export class KeyCheck {
  readonly #keys: KeySource
  readonly #unsubscribe: () => void
  /** Compared with if the key is unknown, so that this takes as long as a wrong secret. */
  readonly #nobody = randomBytes(32)
  #byAccessKey: ReadonlyMap<string, readonly KnownKey[]> | undefined

  constructor(keys: KeySource) {
    this.#keys = keys
    this.#unsubscribe = keys.onChange(() => (this.#byAccessKey = undefined))
  }

  get synced(): boolean {
    return this.#keys.synced
  }

  /** Every unknown or wrong key gets the same refusal, so that nothing can be learned by trying. */
  admit(headers: HeaderList, now: number): Grant {
    if (!this.#keys.synced) throw notSeenYet('API keys')
    const sent = sentKey(headers)
    if (sent === undefined) throw refusal('no API key was sent')
    const presented = readBearerKey(sent)
    const digest = secretDigest(presented?.secret ?? '')
    const candidates = (presented && this.#index().get(presented.accessKey)) ?? []
    let match: KnownKey | undefined
    for (const known of candidates) {
      if (timingSafeEqual(digest, known.digest)) match = known
    }
    if (candidates.length === 0) timingSafeEqual(digest, this.#nobody)
    if (!match) throw refusal('the API key that was sent is not valid')
    if (match.disabled) throw new SluiceError('key_disabled')
    if (now >= match.expiresAtMs) throw new SluiceError('api_key_expired')
    return match.grant
  }

  close(): void {
    this.#unsubscribe()
  }

  #index(): ReadonlyMap<string, readonly KnownKey[]> {
    if (this.#byAccessKey) return this.#byAccessKey
    const byAccessKey = new Map<string, KnownKey[]>()
    for (const { metadata, spec } of this.#keys.list()) {
      if (spec.use !== 'Inference') continue
      const { accessKey, secretSha256, expiresAt, disabled, allowedModels } = spec
      const known: KnownKey = {
        digest: Buffer.from(secretSha256, 'hex'),
        // An expiry that cannot be parsed counts as expired.
        expiresAtMs: expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) || 0,
        disabled,
        grant: { key: metadata.name, models: allowedModels && new Set(allowedModels) },
      }
      const same = byAccessKey.get(accessKey)
      if (same) same.push(known)
      else byAccessKey.set(accessKey, [known])
    }
    this.#byAccessKey = byAccessKey
    return byAccessKey
  }
}

/** Where clients put their key. `Authorization` counts where there is one: the others are for who cannot set it. */
export const keyFields = ['authorization', 'x-api-key', 'api-key'] as const

function sentKey(headers: HeaderList): string | undefined {
  const authorization = headers.get('authorization')
  if (authorization !== undefined) return authorization
  const plain = headers.get('x-api-key') ?? headers.get('api-key')
  return plain === undefined ? undefined : `Bearer ${plain}`
}

function refusal(reason: string): SluiceError {
  return new SluiceError('invalid_api_key', { reason })
}
