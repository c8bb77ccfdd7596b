import { createHash, randomBytes } from 'node:crypto'
import type { KeyProof } from '../../key-ring.ts'

export interface SessionLimits {
  /** A session that nobody uses ends after this. */
  readonly idleMs: number
  /** However much it is used. */
  readonly longestMs: number
  /** Those that were not used for longest end first. */
  readonly most: number
}

export const defaultSessionLimits: SessionLimits = { idleMs: 3_600_000, longestMs: 12 * 3_600_000, most: 200 }

export interface ConsoleSession {
  /** What was shown at the login. It is judged again for each request, so that a revoked key ends its sessions. */
  readonly proof: KeyProof
  readonly endsAt: number
  readonly token: string
}

interface Held {
  readonly proof: KeyProof
  readonly endsAt: number
  usedAt: number
}

/** Who is logged in at the console. Only in memory: a restart ends all sessions. */
export class ConsoleSessions {
  readonly #limits: SessionLimits
  readonly #now: () => number
  /**
   * By the hash of the token, so that no token can be read from the memory of this program. Least recently used first.
   */
  readonly #held = new Map<string, Held>()

  constructor(now: () => number, limits: SessionLimits = defaultSessionLimits) {
    this.#now = now
    this.#limits = limits
  }

  get size(): number {
    return this.#held.size
  }

  open(proof: KeyProof): ConsoleSession {
    const token = randomBytes(32).toString('base64url')
    const now = this.#now()
    const endsAt = now + this.#limits.longestMs
    this.#held.set(hashOf(token), { proof, endsAt, usedAt: now })
    const [oldest] = this.#held.keys()
    if (this.#held.size > this.#limits.most && oldest !== undefined) this.#held.delete(oldest)
    return { proof, endsAt, token }
  }

  /** Finding a session counts as a use of it. */
  find(token: string): ConsoleSession | undefined {
    const key = hashOf(token)
    const held = this.#held.get(key)
    if (!held) return undefined
    const now = this.#now()
    this.#held.delete(key)
    if (now >= held.endsAt || now - held.usedAt >= this.#limits.idleMs) return undefined
    held.usedAt = now
    this.#held.set(key, held)
    return { proof: held.proof, endsAt: held.endsAt, token }
  }

  close(token: string): void {
    this.#held.delete(hashOf(token))
  }
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
