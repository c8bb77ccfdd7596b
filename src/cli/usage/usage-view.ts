import { SluiceError } from '../../foundation/errors.ts'
import { usageDayOf } from '../../resources/usage-record.ts'
import {
  type UsageGrouping,
  type UsageQuestion,
  type UsageRow,
  type UsageSummary,
  usageGroupings,
} from '../../resources/usage-summary.ts'
import { renderTable } from '../output/text-table.ts'
import { dateMs, durationMs } from '../output/times.ts'

/** What rows are told apart by, from words such as `day,model`. */
export function groupingsOf(text: string): readonly UsageGrouping[] {
  const words = text.split(',').map((word) => word.trim())
  const known = words.flatMap((word) => usageGroupings.filter((grouping) => grouping === word))
  if (known.length === words.length && new Set(words).size === words.length) return known
  const reason = `"${text}" must be some of ${usageGroupings.join(', ')}, each once and separated by commas.`
  throw new SluiceError('invalid_flag', { flag: '--by', reason })
}

/** The first day of a time ago, such as `7d`, or the day of a date. */
export function firstDay(text: string, now: number): string {
  const ago = durationMs(text)
  const at = ago === undefined ? dateMs(text) : now - ago
  if (at !== undefined && at >= 0) return usageDayOf(at)
  const reason = `"${text}" is neither a time ago, such as 12h or 7d, nor a date such as 2031-01-31.`
  throw new SluiceError('invalid_flag', { flag: '--since', reason })
}

interface Column {
  readonly name: string
  readonly isWide?: boolean
  readonly isOfCards?: boolean
  cell(row: UsageRow): string
}

const columns: readonly Column[] = [
  { name: 'REQUESTS', cell: ({ requests }) => String(requests) },
  { name: 'FAILED', cell: ({ failedRequests }) => String(failedRequests) },
  { name: 'ABANDONED', isWide: true, cell: ({ abandonedRequests }) => String(abandonedRequests) },
  { name: 'PROMPT TOKENS', cell: ({ promptTokens }) => String(promptTokens) },
  { name: 'COMPLETION TOKENS', cell: ({ completionTokens }) => String(completionTokens) },
  { name: 'ESTIMATED', isWide: true, cell: ({ estimatedTokens }) => String(estimatedTokens) },
  { name: 'CARD TIME', isOfCards: true, cell: ({ cardSeconds = 0 }) => shownTime(cardSeconds) },
  { name: 'SAVED', isOfCards: true, cell: ({ savedCardSeconds = 0 }) => shownTime(savedCardSeconds) },
]

export function renderUsage({ rows, total }: UsageSummary, { by, since }: UsageQuestion, isWide: boolean): string {
  if (rows.length === 0) return `Nothing was used since ${since}. What is new is written within a minute.`
  const withCards = total.cardSeconds !== undefined
  const shown = columns.filter((column) => (isWide || !column.isWide) && (withCards || !column.isOfCards))
  const cells = (row: UsageRow) => shown.map((column) => column.cell(row))
  return renderTable([
    [...by.map((grouping) => grouping.toUpperCase()), ...shown.map(({ name }) => name)],
    ...rows.map((row) => [...by.map((grouping) => row[grouping] ?? '-'), ...cells(row)]),
    ...(rows.length > 1 ? [[...by.map((_, at) => (at === 0 ? 'all' : '')), ...cells(total)]] : []),
  ])
}

/** `45s`, `12m05s`, `3h05m` or `2d04h`: of one card, or of several at once. */
export function shownTime(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const two = (count: number) => String(count).padStart(2, '0')
  if (minutes === 0) return `${seconds}s`
  if (hours === 0) return `${minutes}m${two(seconds % 60)}s`
  if (hours < 48) return `${hours}h${two(minutes % 60)}m`
  return `${Math.floor(hours / 24)}d${two(hours % 24)}h`
}
