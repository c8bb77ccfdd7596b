import { humanDuration } from '../../resources/columns/age.ts'

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }
const dateForm = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/

/** The milliseconds of a time such as `30m`, `12h` or `7d`; `undefined` for anything else. */
export function durationMs(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const each = unitMs[unit]
  return each === undefined ? undefined : Number(count) * each
}

/** A date, or a date and time with its zone, in milliseconds since the epoch; `undefined` for anything else. */
export function dateMs(text: string): number | undefined {
  const at = dateForm.test(text) ? Date.parse(text) : Number.NaN
  return Number.isFinite(at) ? at : undefined
}

/** `3m ago` */
export function timeSince(time: string, now: number): string {
  return `${humanDuration(now - Date.parse(time))} ago`
}

/** `in 3m`, or `now` for what is about to happen. */
export function timeFromNow(time: string, now: number): string {
  const leftMs = Date.parse(time) - now
  return leftMs < 1000 ? 'now' : `in ${humanDuration(leftMs)}`
}
