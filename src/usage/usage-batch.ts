import {
  type CardUsage,
  type ServedUsage,
  type UsageRecord,
  mostUsageEntries,
  otherName,
} from '../resources/usage-record.ts'
import { addServed, noneServed } from '../resources/usage-summary.ts'

/** What was counted on one day and is not written yet. The number of models and keys told apart is bounded. */
export class UsageBatch {
  readonly day: string
  readonly #served = new Map<string, ServedUsage>()
  readonly #cards = new Map<string, CardUsage>()

  constructor(day: string) {
    this.day = day
  }

  addServed(more: ServedUsage): void {
    const { model, key } = within(this.#served, servedId(more)) ? more : { model: otherName, key: otherName }
    const id = servedId({ model, key })
    let sum = this.#served.get(id)
    if (!sum) {
      sum = { model, ...(key === undefined ? {} : { key }), ...noneServed() }
      this.#served.set(id, sum)
    }
    addServed(sum, more)
  }

  addCards(more: CardUsage): void {
    const model = within(this.#cards, more.model) ? more.model : otherName
    const sum = this.#cards.get(model) ?? { model, seconds: 0, savedSeconds: 0 }
    sum.seconds = milliseconds(sum.seconds + more.seconds)
    sum.savedSeconds = milliseconds(sum.savedSeconds + more.savedSeconds)
    this.#cards.set(model, sum)
  }

  add({ served, cards }: Pick<UsageRecord['spec'], 'served' | 'cards'>): void {
    for (const one of served) this.addServed(one)
    for (const one of cards) this.addCards(one)
  }

  get served(): ServedUsage[] {
    return [...this.#served.values()]
  }

  get cards(): CardUsage[] {
    return [...this.#cards.values()]
  }
}

/** Whether the entry is there, or there is room for it. */
function within(entries: ReadonlyMap<string, unknown>, id: string): boolean {
  return entries.has(id) || entries.size < mostUsageEntries
}

/** Names have no line breaks. */
function servedId({ model, key }: Pick<ServedUsage, 'model' | 'key'>): string {
  return `${model}\n${key ?? ''}`
}

/** What is smaller is noise of floating point, and would only make records longer. */
function milliseconds(seconds: number): number {
  return Math.round(seconds * 1_000) / 1_000
}
