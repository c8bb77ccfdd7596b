import { SluiceError } from '../foundation/errors.ts'
import type { Logger } from '../foundation/log.ts'
import type { AttemptLimiter } from './attempt-limiter.ts'
import { parseCredential } from './credential.ts'
import type { KeyRing } from './key-ring.ts'

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

  /**
   * Returns the key's enterprise. Whatever is wrong with the pair, the refusal is the same, so that it reveals nothing.
   */
  authenticate({ authorization, source }: Caller): string {
    const presented = parseCredential(authorization)
    if (!presented) throw new SluiceError('credential_refused')
    const { accessKey } = presented
    const retryAfterSeconds = this.#attempts.waitSeconds(source, accessKey)
    if (retryAfterSeconds !== undefined) throw new SluiceError('too_many_attempts', { retryAfterSeconds })
    const verdict = this.#keys.judge(presented)
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
    if (verdict.outcome === 'right') return verdict.enterprise
    this.#log.warn({ source, key: verdict.name }, 'a disabled key was presented')
    throw new SluiceError('key_disabled')
  }

  close(): void {
    this.#keys.close()
  }
}
