import { type ProcessFacts, lookForMarks } from './process-identity.ts'

interface Asker {
  readonly entries: readonly string[]
  readonly tell: (found: readonly ProcessFacts[]) => void
}

/**
 * Looks for marked processes. A hundred containers that end together cost one look at the machine's processes, not a
 * hundred; and a machine with thousands of processes is looked at in several turns of the event loop.
 */
export class ProcessSearch {
  #askers: Asker[] = []
  #looking = false

  /** Processes that carry all these entries in their environment, as of a moment after the call. */
  find(entries: readonly string[]): Promise<readonly ProcessFacts[]> {
    return new Promise((resolve) => {
      this.#askers.push({ entries, tell: resolve })
      if (this.#looking) return
      this.#looking = true
      setImmediate(() => this.#look())
    })
  }

  #look(): void {
    const askers = this.#askers
    this.#askers = []
    const look = lookForMarks(askers.map(({ entries }) => entries))
    this.#goOn(askers, look)
  }

  #goOn(askers: readonly Asker[], look: ReturnType<typeof lookForMarks>): void {
    const { done, value } = look.next()
    if (done !== true) {
      setImmediate(() => this.#goOn(askers, look))
      return
    }
    for (const [index, { tell }] of askers.entries()) tell(value[index] ?? [])
    // Who asked meanwhile wants to know of later than where this look began.
    this.#looking = this.#askers.length > 0
    if (this.#looking) setImmediate(() => this.#look())
  }
}
