import { SluiceError } from '../foundation/errors.ts'
import { type UsageRecord, usageDayOf } from '../resources/usage-record.ts'
import {
  type UsageGrouping,
  type UsageQuestion,
  type UsageSummary,
  summarizeUsage,
  usageGroupings,
} from '../resources/usage-summary.ts'

export interface UsageAnswer extends UsageSummary {
  /** The first and the last day, both included. */
  readonly since: string
  readonly until: string
  readonly by: readonly UsageGrouping[]
}

const dayMs = 24 * 60 * 60_000
const usualDays = 30
const mostRows = 10_000
const longestName = 253
const parameters = ['since', 'until', 'by', 'model', 'key']

/** What models were used for, as the query asks. By default day by day, of the last 30. */
export function usageAnswer(query: string, records: readonly UsageRecord[], now: number): UsageAnswer {
  const question = questionOf(query, now)
  const summary = summarizeUsage(records, question)
  if (summary.rows.length > mostRows) throw malformed('that would be too many rows; ask for fewer days, or by less')
  const { since, until, by } = question
  return { since, until, by, ...summary }
}

function questionOf(query: string, now: number): UsageQuestion & { readonly until: string } {
  const asked = new URLSearchParams(query)
  for (const name of asked.keys()) {
    if (!parameters.includes(name)) throw malformed(`there is no parameter "${name.slice(0, 100)}"`)
    if (asked.getAll(name).length > 1) throw malformed(`${name} is there more than once`)
  }
  const since = dayIn(asked, 'since') ?? usageDayOf(now - (usualDays - 1) * dayMs)
  const until = dayIn(asked, 'until') ?? usageDayOf(now)
  return { since, until, by: groupingsIn(asked.get('by')), model: nameIn(asked, 'model'), key: nameIn(asked, 'key') }
}

function dayIn(asked: URLSearchParams, name: string): string | undefined {
  const text = asked.get(name)
  if (text === null) return undefined
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  // A day such as the 31st of February would be another one.
  if (Number.isFinite(at) && usageDayOf(at) === text) return text
  throw malformed(`${name} must be a day, such as 2031-01-31`)
}

function groupingsIn(text: string | null): readonly UsageGrouping[] {
  if (text === null) return ['day']
  const words = text === '' ? [] : text.split(',')
  const known = words.flatMap((word) => usageGroupings.filter((grouping) => grouping === word))
  if (known.length === words.length && new Set(words).size === words.length) return known
  throw malformed(`by must be some of ${usageGroupings.join(', ')}, each once and separated by commas`)
}

function nameIn(asked: URLSearchParams, name: string): string | undefined {
  const text = asked.get(name)
  if (text === null) return undefined
  if (text !== '' && text.length <= longestName) return text
  throw malformed(`${name} must be a name of at most ${longestName} characters`)
}

function malformed(reason: string): SluiceError {
  return new SluiceError('usage_question_malformed', { reason })
}
