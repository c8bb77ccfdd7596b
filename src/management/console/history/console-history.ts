import type { CardView, HistorySample, HistoryView } from '../console-shapes.ts'
import type { Traffic } from '../console-world.ts'

export const recentEveryMs = 10_000
const recentSamples = 360
const dayEveryMs = 300_000
const daySamples = 288
/** Of more models in one sample, the busiest are kept. */
const mostModels = 100

/** The last hour and the last day, in memory: what a person wants to see at a glance. Prometheus keeps the rest. */
export class ConsoleHistory {
  readonly #recent: HistorySample[] = []
  readonly #day: HistorySample[] = []
  /** The samples of the piece of the day that is not over yet. */
  #gathering: HistorySample[] = []

  add(sample: HistorySample): void {
    keep(this.#recent, sample, recentSamples)
    this.#gathering.push(sample)
    const [first] = this.#gathering
    if (first === undefined || sample.at - first.at + recentEveryMs < dayEveryMs) return
    keep(this.#day, averageOf(this.#gathering, first.at), daySamples)
    this.#gathering = []
  }

  view(): HistoryView {
    return {
      recent: { everyMs: recentEveryMs, samples: this.#recent },
      day: { everyMs: dayEveryMs, samples: this.#day },
    }
  }
}

export function sampleOf(
  at: number,
  models: readonly string[],
  cards: readonly CardView[],
  traffic: Traffic | undefined,
): HistorySample {
  const busy: Array<[string, [number, number]]> = []
  for (const model of models) {
    const { active = 0, waiting = 0 } = traffic?.sample(model) ?? {}
    if (active + waiting > 0) busy.push([model, [active, waiting]])
  }
  busy.sort(([, one], [, other]) => other[0] + other[1] - one[0] - one[1])
  return {
    at,
    requests: Object.fromEntries(busy.slice(0, mostModels)),
    cards: Object.fromEntries(cards.map((card) => [card.name, cardsByHolder(card)])),
  }
}

function cardsByHolder({ holders }: CardView): Record<string, number> {
  const sums = new Map<string, number>()
  for (const { model = '', cards } of holders.slice(0, mostModels)) sums.set(model, (sums.get(model) ?? 0) + cards)
  return Object.fromEntries(sums)
}

/** Averages, since a sum of cards over time is what they cost. */
function averageOf(samples: readonly HistorySample[], at: number): HistorySample {
  const count = samples.length
  const requests: Record<string, [number, number]> = {}
  const cards: Record<string, Record<string, number>> = {}
  for (const sample of samples) {
    for (const [model, [active, waiting]] of Object.entries(sample.requests)) {
      const sum = (requests[model] ??= [0, 0])
      sum[0] += active / count
      sum[1] += waiting / count
    }
    for (const [kind, holders] of Object.entries(sample.cards)) {
      const sums = (cards[kind] ??= {})
      for (const [holder, held] of Object.entries(holders)) sums[holder] = (sums[holder] ?? 0) + held / count
    }
  }
  return { at, requests, cards }
}

function keep<T>(list: T[], value: T, most: number): void {
  list.push(value)
  if (list.length > most) list.shift()
}
