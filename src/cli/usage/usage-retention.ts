import type { Flag } from '../command.ts'
import type { ParsedFlags } from '../flags.ts'

/** A year to compare with, and a month to do it in. */
const usualDays = 400

/** Of every command that deletes old records of usage. */
export const usageRetentionFlag: Flag = {
  name: 'usage-retention',
  value: 'DAYS',
  fallback: String(usualDays),
  help: 'how long records of what models were used for are kept',
}

export function usageRetentionDays(parsed: ParsedFlags): number {
  return parsed.integer('usage-retention', { min: 1, max: 10_000 }) ?? usualDays
}
