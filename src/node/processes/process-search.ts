import { type ProcessFacts, lookForMarks } from './process-identity.ts'

interface Asker {
  readonly entries: readonly string[]
  readonly tell: (found: readonly ProcessFacts[]) => void
}

/**
 * Finds processes by their marks. A hundred containers that end together cost one pass over the machine's processes,
 * and a pass over thousands is spread over several turns of the event loop.
 */
export class ProcessSearch {
  #askers: Asker[] = []
  #looking = false

  /** Processes with all these environment entries, as of some moment after the call. */
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
    // Whoever asked during the pass needs a pass that begins later.
    this.#looking = this.#askers.length > 0
    if (this.#looking) setImmediate(() => this.#look())
  }
}
