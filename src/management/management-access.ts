import { SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import type { AttemptLimiter } from './attempt-limiter.ts'
import { parseCredential } from './credential.ts'
import type { KeyRing } from './key-ring.ts'

export interface Caller {
  /** Every Authorization header. */
  readonly authorization: readonly string[] | undefined
  /** The address it comes from. */
  readonly source: string
}

/** Lets in who presents a right key pair, and nobody too often who does not. */
export class ManagementAccess {
  readonly #keys: KeyRing
  readonly #attempts: AttemptLimiter
  readonly #log: Logger

  constructor(keys: KeyRing, attempts: AttemptLimiter, log: Logger) {
    this.#keys = keys
    this.#attempts = attempts
    this.#log = log
  }

  /**
   * The enterprise of the key. One and the same refusal for whatever is wrong with the pair, so that nothing can be
   * probed.
   */
  authenticate({ authorization, source }: Caller): string {
    const presented = parseCredential(authorization)
    if (!presented) throw new SluiceError('credential_refused')
    const { accessKey } = presented
    const retryAfterSeconds = this.#attempts.waitSeconds(source, accessKey)
    if (retryAfterSeconds !== undefined) throw new SluiceError('too_many_attempts', { retryAfterSeconds })
    const verdict = this.#keys.judge(presented)
    if (verdict.outcome === 'wrong') {
      // The name and not what was presented: people put the secret in the wrong place.
      const wasTooMany = this.#attempts.failed(source, accessKey)
      const key = verdict.name ?? null
      this.#log.warn(
        { source, key },
        wasTooMany ? 'key pairs are refused unheard for a while' : 'a key pair was refused',
      )
      throw new SluiceError('credential_refused')
    }
    this.#attempts.succeeded(source, accessKey)
    if (verdict.outcome === 'right') return verdict.enterprise
    this.#log.warn({ source, key: verdict.name }, 'a disabled key was presented')
    throw new SluiceError('key_disabled')
  }

  close(): void {
    this.#keys.close()
  }
}
