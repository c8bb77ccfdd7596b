import { SluiceError } from '../../foundation/errors.ts'
import type { AuditLine, MissingLines } from '../../platform/audit/audit-line.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { dateMs, durationMs } from '../times.ts'

/** A time ago, such as `30m`, `12h` or `7d`, or a date. */
export function timeBefore(text: string, now: number): number {
  const ago = durationMs(text)
  const at = ago === undefined ? dateMs(text) : now - ago
  if (at !== undefined) return at
  const reason = `"${text}" is neither a time ago, such as 30m, 12h or 7d, nor a date such as 2031-01-31.`
  throw new SluiceError('invalid_flag', { flag: '--since', reason })
}

/** The log's name for what somebody calls `Pod`, `po` or `pods/exec`. An unknown name stays as it is. */
export function resourceAsked(text: string): string {
  const [asked = '', ...beyond] = text.toLowerCase().split('/')
  const known = [...coreKinds, ...customKinds].find(({ kind, singular, plural, shortNames }) =>
    [kind.toLowerCase(), singular, plural, ...shortNames].includes(asked),
  )
  return [known?.plural ?? asked, ...beyond].join('/')
}

/** One line for people: when, who, what, how it ended, and from where. */
export function shownLine(_text: string, line: AuditLine | MissingLines): string {
  if ('missing' in line)
    return `${second(line.time)}  ${line.missing} lines are missing here: the disk was full or behind`
  const { user, impersonatedUser, verb, responseStatus, sourceIPs } = line
  const { code, reason } = responseStatus
  const who = user.username ?? '(unknown)'
  const as = impersonatedUser?.username
  const outcome = reason === undefined ? String(code) : `${code} ${reason}`
  const shown = [
    second(line.stageTimestamp),
    (as === undefined ? who : `${who} as ${as}`).padEnd(20),
    verb.padEnd(8),
    objectOf(line).padEnd(40),
    (line.stage === 'ResponseStarted' ? `${outcome} opened` : outcome).padEnd(12),
    sourceIPs.join(','),
  ]
  return printable(shown.join('  ').trimEnd())
}

/** For example `sluice/models/chat` or `default/pods/web/exec`. */
function objectOf({ objectRef, requestURI }: AuditLine): string {
  if (!objectRef) return requestURI
  const { namespace, resource, apiGroup, name, subresource } = objectRef
  const qualified = apiGroup === undefined ? resource : `${resource}.${apiGroup}`
  return [namespace, qualified, name, subresource].filter((part) => part !== undefined).join('/')
}

function second(time: string): string {
  return `${time.slice(0, 19)}Z`
}

/** Clients choose names, so control characters in them must not reach the terminal. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?')
}
