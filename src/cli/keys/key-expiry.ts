import { SluiceError } from '../../foundation/errors.ts'

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }
const dateForm = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/

/** A time from now, such as `90d`, `12h` or `30m`, or a date. */
export function expiryOf(text: string, now: number): number {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const at =
    unit === undefined
      ? dateForm.test(text)
        ? Date.parse(text)
        : Number.NaN
      : now + Number(count) * (unitMs[unit] ?? 0)
  if (!Number.isFinite(at)) {
    throw refused(`"${text}" is neither a time from now, such as 90d, 12h or 30m, nor a date such as 2031-01-31.`)
  }
  if (at <= now) throw refused(`"${text}" is not in the future.`)
  return at
}

function refused(reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag: '--expires', reason })
}
