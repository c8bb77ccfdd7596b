import { SluiceError } from '../../foundation/errors.ts'
import { dateMs, durationMs } from '../output/times.ts'

/** A time from now, such as `90d`, `12h` or `30m`, or a date. */
export function expiryOf(text: string, now: number): number {
  const fromNow = durationMs(text)
  const at = fromNow === undefined ? dateMs(text) : now + fromNow
  if (at === undefined) {
    throw refused(`"${text}" is neither a time from now, such as 90d, 12h or 30m, nor a date such as 2031-01-31.`)
  }
  if (at <= now) throw refused(`"${text}" is not in the future.`)
  return at
}

function refused(reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag: '--expires', reason })
}
