import { SluiceError } from '../../foundation/errors.ts'
import type { AuditLine, MissingLines } from '../../platform/audit/audit-line.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import type { OutputForm } from '../output/output-flag.ts'
import { printable } from '../output/print-output.ts'
import { dateMs, durationMs } from '../output/times.ts'

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

/** What is printed of a line of the log: of its text as it is there, or of what it says. */
export type ShownLine = (text: string, line: AuditLine | MissingLines) => string

/** The lines of a log have no end, so each is printed by itself. */
export async function lineIn(form: OutputForm | undefined): Promise<ShownLine> {
  if (form === 'json') return (text) => text
  if (form === 'yaml') {
    const { stringify } = await import('yaml')
    return (text) => `---\n${stringify(JSON.parse(text)).trimEnd()}`
  }
  if (form === 'name') return (_text, line) => ('missing' in line ? '' : printable(objectOf(line)))
  if (form === 'wide') return (text, line) => `${shownLine(text, line)}${'missing' in line ? '' : clientOf(line)}`
  return shownLine
}

function clientOf({ userAgent }: AuditLine): string {
  return userAgent === undefined ? '' : printable(`  ${userAgent}`)
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
