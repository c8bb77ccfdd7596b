import { type UsageRecord, usageDayOf } from '../../../resources/usage-record.ts'
import { type UsageRow, summarizeUsage } from '../../../resources/usage-summary.ts'
import type { UsageEntry, UsageView } from '../console-shapes.ts'

const dayMs = 86_400_000
const shownDays = 30
/** Those that cost most. */
const mostModels = 20

/** What models cost and what sleeping saved, in the last 30 days. */
export function usageView(records: readonly UsageRecord[], now: number): UsageView {
  const days = Array.from({ length: shownDays }, (_, ago) => usageDayOf(now - (shownDays - 1 - ago) * dayMs))
  const since = days[0] ?? usageDayOf(now)
  const byDay = summarizeUsage(records, { since, by: ['day'] })
  const found = new Map(byDay.rows.map((row) => [row.day, row]))
  const byModel = summarizeUsage(records, { since, by: ['model'] }).rows
  return {
    days: days.map((day) => entryOf(day, found.get(day))),
    models: byModel
      .map((row) => entryOf(row.model ?? '', row))
      .sort((one, other) => other.heldSeconds - one.heldSeconds || other.tokens - one.tokens)
      .slice(0, mostModels),
    total: entryOf('', byDay.total),
  }
}

function entryOf(name: string, row: Omit<UsageRow, 'day' | 'model'> | undefined): UsageEntry {
  return {
    name,
    heldSeconds: Math.round(row?.cardSeconds ?? 0),
    savedSeconds: Math.round(row?.savedCardSeconds ?? 0),
    requests: row?.requests ?? 0,
    tokens: (row?.promptTokens ?? 0) + (row?.completionTokens ?? 0),
  }
}
