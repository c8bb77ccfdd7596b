import type { CardUsage, ServedUsage, UsageRecord } from './usage-record.ts'

export const usageGroupings = ['day', 'model', 'key'] as const
export type UsageGrouping = (typeof usageGroupings)[number]

export interface UsageQuestion {
  /** The first and the last day, both included. */
  readonly since: string
  readonly until?: string | undefined
  readonly model?: string | undefined
  readonly key?: string | undefined
  /** A row for each of these. Without any there is one row. */
  readonly by: readonly UsageGrouping[]
}

export type ServedFigures = Omit<ServedUsage, 'model' | 'key'>

export interface UsageFigures extends ServedFigures {
  /** Not there where rows are told apart by key, or one key is asked for: cards are held for everybody who asks. */
  readonly cardSeconds?: number
  readonly savedCardSeconds?: number
}

export interface UsageRow extends UsageFigures {
  readonly day?: string
  readonly model?: string
  /** `null`: no key was asked for. */
  readonly key?: string | null
}

export interface UsageSummary {
  readonly rows: readonly UsageRow[]
  readonly total: UsageFigures
}

type Mutable<T> = { -readonly [name in keyof T]: T[name] }
type Sum = Mutable<UsageRow>

/** Adds up what all writers counted. Rows come in the order of their names. */
export function summarizeUsage(records: readonly UsageRecord[], question: UsageQuestion): UsageSummary {
  const { since, until = '9999-12-31', by } = question
  const withCards = question.key === undefined && !by.includes('key')
  const rows = new Map<string, Sum>()
  const total = emptySum(withCards)
  const sumsOf = (day: string, model: string, key: string | undefined): readonly Sum[] => {
    const values = { day, model, key: key ?? null }
    const id = by.map((grouping) => values[grouping] ?? '').join('\n')
    let row = rows.get(id)
    if (!row) {
      row = { ...Object.fromEntries(by.map((grouping) => [grouping, values[grouping]])), ...emptySum(withCards) }
      rows.set(id, row)
    }
    return [row, total]
  }
  for (const { spec } of records) {
    if (spec.day < since || spec.day > until) continue
    for (const served of spec.served) {
      if (!isAsked(served, question)) continue
      for (const sum of sumsOf(spec.day, served.model, served.key)) addServed(sum, served)
    }
    for (const cards of withCards ? spec.cards : []) {
      if (!isAsked(cards, question)) continue
      for (const sum of sumsOf(spec.day, cards.model, undefined)) addCards(sum, cards)
    }
  }
  const ordered = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  return { rows: ordered.map(rounded), total: rounded(total) }
}

function isAsked(entry: { readonly model: string; readonly key?: string | undefined }, asked: UsageQuestion): boolean {
  if (asked.model !== undefined && entry.model !== asked.model) return false
  return asked.key === undefined || entry.key === asked.key
}

export function noneServed(): ServedFigures {
  return {
    requests: 0,
    failedRequests: 0,
    abandonedRequests: 0,
    promptTokens: 0,
    completionTokens: 0,
    estimatedTokens: 0,
  }
}

function emptySum(withCards: boolean): Sum {
  return { ...noneServed(), ...(withCards && { cardSeconds: 0, savedCardSeconds: 0 }) }
}

export function addServed(sum: ServedFigures, more: ServedFigures): void {
  sum.requests += more.requests
  sum.failedRequests += more.failedRequests
  sum.abandonedRequests += more.abandonedRequests
  sum.promptTokens += more.promptTokens
  sum.completionTokens += more.completionTokens
  sum.estimatedTokens += more.estimatedTokens
}

function addCards(sum: Sum, { seconds, savedSeconds }: CardUsage): void {
  sum.cardSeconds = (sum.cardSeconds ?? 0) + seconds
  sum.savedCardSeconds = (sum.savedCardSeconds ?? 0) + savedSeconds
}

/** Sums of fractions would show the last digits of their floating point. */
function rounded<T extends UsageFigures>(figures: T): T {
  const { cardSeconds, savedCardSeconds } = figures
  if (cardSeconds === undefined || savedCardSeconds === undefined) return figures
  return { ...figures, cardSeconds: Math.round(cardSeconds), savedCardSeconds: Math.round(savedCardSeconds) }
}
