import type { Clock } from '../../foundation/clock.ts'

interface Expected {
  creations: number
  readonly deletions: Set<string>
  readonly since: number
}

/**
 * A change that the cache has not shown by then is no longer waited for: it may have come and gone between two lists.
 */
export const patienceMs = 5 * 60_000

/**
 * What a controller has done for an owner and the cache does not show yet. Until it does, the owner's Pods must not be
 * counted, or they would be created twice. By the owner's uid, so that an owner of the same name starts afresh.
 */
export class Expectations {
  readonly #clock: Pick<Clock, 'now'>
  readonly #expected = new Map<string, Expected>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  satisfied(owner: string): boolean {
    const expected = this.#expected.get(owner)
    if (!expected) return true
    if (expected.creations > 0 || expected.deletions.size > 0) {
      if (this.#clock.now() - expected.since < patienceMs) return false
    }
    this.#expected.delete(owner)
    return true
  }

  expectCreations(owner: string, count: number): void {
    this.#open(owner).creations += count
  }

  expectDeletion(owner: string, uid: string): void {
    this.#open(owner).deletions.add(uid)
  }

  creationObserved(owner: string, count = 1): void {
    const expected = this.#expected.get(owner)
    if (expected) expected.creations = Math.max(0, expected.creations - count)
  }

  deletionObserved(owner: string, uid: string): void {
    this.#expected.get(owner)?.deletions.delete(uid)
  }

  forget(owner: string): void {
    this.#expected.delete(owner)
  }

  #open(owner: string): Expected {
    const known = this.#expected.get(owner)
    if (known) return known
    const expected = { creations: 0, deletions: new Set<string>(), since: this.#clock.now() }
    this.#expected.set(owner, expected)
    return expected
  }
}
