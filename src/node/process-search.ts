import { type ProcessFacts, processesMarkedWithAny } from './process-identity.ts'

interface Asker {
  readonly entries: readonly string[]
  readonly tell: (found: readonly ProcessFacts[]) => void
}

/** Looks for marked processes. A hundred containers that end together cost one look at the machine's processes, not a hundred. */
export class ProcessSearch {
  #askers: Asker[] = []

  /** Processes that carry all these entries in their environment, as of a moment after the call. */
  find(entries: readonly string[]): Promise<readonly ProcessFacts[]> {
    return new Promise((resolve) => {
      if (this.#askers.length === 0) setImmediate(() => this.#look())
      this.#askers.push({ entries, tell: resolve })
    })
  }

  #look(): void {
    const askers = this.#askers
    this.#askers = []
    const found = processesMarkedWithAny(askers.map(({ entries }) => entries))
    for (const [index, { tell }] of askers.entries()) tell(found[index] ?? [])
  }
}
