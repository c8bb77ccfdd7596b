import { SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import type { AttemptLimiter } from './attempt-limiter.ts'
import { parseCredential } from './credential.ts'
import type { KeyPair } from './key-pair.ts'
import { type KeyHolder, type KeyProof, type KeyRing, type ProvenKey, proofOf } from './key-ring.ts'

export interface Caller {
  /** All Authorization headers of the request. */
  readonly authorization: readonly string[] | undefined
  /** The client's address. */
  readonly source: string
}

/** Checks the key pairs of requests, and limits how often wrong ones may be tried. */
export class ManagementAccess {
  readonly #keys: KeyRing
  readonly #attempts: AttemptLimiter
  readonly #log: Logger

  constructor(keys: KeyRing, attempts: AttemptLimiter, log: Logger) {
    this.#keys = keys
    this.#attempts = attempts
    this.#log = log
  }

  /** Returns the key's enterprise. */
  authenticate(caller: Caller): string {
    return this.identify(caller).holder.enterprise
  }

  identify({ authorization, source }: Caller): ProvenKey {
    const presented = parseCredential(authorization)
    if (!presented) throw new SluiceError('credential_refused')
    return this.check(presented, source)
  }

  /** Whatever is wrong with the pair, the refusal is the same, so that it reveals nothing. */
  check(presented: KeyPair, source: string): ProvenKey {
    const { accessKey } = presented
    const retryAfterSeconds = this.#attempts.waitSeconds(source, accessKey)
    if (retryAfterSeconds !== undefined) throw new SluiceError('too_many_attempts', { retryAfterSeconds })
    const proof = proofOf(presented)
    const verdict = this.#keys.judgeProof(proof)
    if (verdict.outcome === 'wrong') {
      // Logs the key's name, not what was sent: people may put the secret in the wrong place.
      const wasTooMany = this.#attempts.failed(source, accessKey)
      const key = verdict.name ?? null
      this.#log.warn(
        { source, key },
        wasTooMany ? 'key pairs are refused unheard for a while' : 'a key pair was refused',
      )
      throw new SluiceError('credential_refused')
    }
    this.#attempts.succeeded(source, accessKey)
    const { name, enterprise } = verdict
    if (verdict.outcome === 'right') return { holder: { name, enterprise }, proof }
    this.#log.warn({ source, key: name }, 'a disabled key was presented')
    throw new SluiceError('key_disabled')
  }

  /** Whose pair it was that was found right before; `undefined` when it is not valid any more. */
  stillHolds(proof: KeyProof): KeyHolder | undefined {
    const verdict = this.#keys.judgeProof(proof)
    return verdict.outcome === 'right' ? { name: verdict.name, enterprise: verdict.enterprise } : undefined
  }

  close(): void {
    this.#keys.close()
  }
}
