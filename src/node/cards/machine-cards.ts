import type { Card } from './card.ts'

/**
 * The cards of the machine and who has which, whatever cluster the holder is of. A card has one holder at most, and
 * stays held until the holder's processes are gone.
 */
export class MachineCards {
  readonly all: readonly Card[]
  readonly #holders = new Map<number, string>()
  readonly #listeners = new Set<() => void>()
  #lost: ReadonlySet<number> = new Set()

  constructor(cards: readonly Card[]) {
    this.all = cards
  }

  /** The uid of the Pod that has it. */
  holderOf(index: number): string | undefined {
    return this.#holders.get(index)
  }

  hold(podUid: string, indices: readonly number[]): void {
    const taken = indices.filter((index) => this.#holders.get(index) !== podUid)
    for (const index of taken) this.#holders.set(index, podUid)
    if (taken.length > 0) this.#tell()
  }

  release(podUid: string): void {
    const held = [...this.#holders].filter(([, holder]) => holder === podUid)
    for (const [index] of held) this.#holders.delete(index)
    if (held.length > 0) this.#tell()
  }

  /** Cards that do not answer: who has one keeps it, nobody else gets it. */
  setLost(indices: ReadonlySet<number>): void {
    this.#lost = indices
  }

  get answering(): readonly Card[] {
    return this.all.filter(({ index }) => !this.#lost.has(index))
  }

  get heldCount(): number {
    return this.#holders.size
  }

  /** Told when cards are taken or let go of. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
