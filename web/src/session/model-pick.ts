import { canDo, isBroken, phaseOf, type ModelEntry, type ModelPhase } from '../protocol/model-list.ts'

/** The sooner a model can answer, the lower. */
const RANKS: Record<ModelPhase, number> = { Ready: 0, Waking: 1, Draining: 2, Asleep: 2, Unknown: 2, Failed: 3 }

/**
 * The model that is asked next. Nobody begins with a broken one, even if it was the last one used; but what somebody
 * picked or has asked stays, whatever becomes of it.
 */
export class ModelPick {
  #id: string
  #decided = false

  /** `lastUsed`: the model of an earlier visit. */
  constructor(lastUsed: string) {
    this.#id = lastUsed
  }

  /** Somebody picked it, or has asked it. */
  decide(id: string): void {
    this.#id = id
    this.#decided = true
  }

  /** Takes the model of a chat that was opened, unless it is broken. */
  suggest(id: string): void {
    this.#id = id
    this.#decided = false
  }

  /** Undefined when there is none to chat with. */
  current(models: readonly ModelEntry[]): ModelEntry | undefined {
    const chatting = models.filter((model) => canDo(model, 'TextGeneration'))
    const picked = chatting.find(({ id }) => id === this.#id)
    if (picked !== undefined && (this.#decided || !isBroken(picked))) return picked
    const best = chatting.toSorted((one, other) => RANKS[phaseOf(one)] - RANKS[phaseOf(other)])[0]
    if (best === undefined) return undefined
    this.#id = best.id
    this.#decided = false
    return best
  }
}
