import { systemClock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import type { AuditQuestion } from '../../platform/audit/audit-line.ts'
import type * as view from './audit-view.ts'
import { dataDirectoryOf, dataFlag } from '../connection/cluster-place.ts'
import type { Command, Flag } from '../command.ts'
import { type ParsedFlags, parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'

const flags: readonly Flag[] = [
  dataFlag,
  { name: 'user', value: 'NAME', help: 'what this user did, or others did on their behalf' },
  {
    name: 'verb',
    value: 'VERB',
    help: 'create, update, patch, delete, deletecollection, or get for exec and the like',
  },
  { name: 'resource', value: 'NAME', help: 'a kind or resource, such as Pod, models, deployments.apps or pods/exec' },
  { name: 'namespace', short: 'n', value: 'NAME', help: 'in this namespace' },
  { name: 'name', value: 'NAME', help: 'about the object of this name' },
  { name: 'cluster', value: 'ID', help: 'in the cluster of this ID' },
  { name: 'since', value: 'TIME', help: '30m, 12h or 7d ago, or a date such as 2031-01-31' },
  { name: 'failed', help: 'only what was refused or failed' },
  { name: 'last', value: 'N', help: 'only the last N of them' },
  { name: 'follow', short: 'f', help: 'show what is written from now on, too, until it is stopped' },
  { ...outputFlag, help: 'json: the lines as they are in the log; yaml; wide: with the client; name: objects only' },
]

type View = typeof view

const mostLast = 100_000

export const auditCommand: Command = {
  name: 'audit',
  summary: 'Show who changed what through the Kubernetes API, and how it ended.',
  example: 'sluice audit --since 1h --failed\nsluice audit --resource models -o json',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    if (parsed.positionals.length > 0) throw refused('sluice audit', 'it takes flags only; --help lists them.')
    // Imported only here: it knows every kind, and other commands need not wait for that to load.
    const shown = await import('./audit-view.ts')
    const form = outputForm(parsed)
    const show = await shown.lineIn(form)
    const last = parsed.integer('last', { min: 1, max: mostLast })
    const question = questionOf(parsed, shown)
    const stop = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
    // The reader, for example `head`, has seen enough.
    process.stdout.on('error', () => stop.abort())
    const { auditFile, auditLines } = await import('../../platform/audit/audit-files.ts')
    const { answersQuestion, parseAuditLine } = await import('../../platform/audit/audit-line.ts')
    const path = auditFile(dataDirectoryOf(parsed))
    const follow = parsed.isSet('follow') ? { clock: systemClock, signal: stop.signal } : undefined
    const print = gathering(last, follow !== undefined)
    for await (const text of auditLines(path, { follow, onCaughtUp: () => print.release() })) {
      if (stop.signal.aborted) break
      const line = parseAuditLine(text)
      if (line && ('missing' in line || answersQuestion(line, question))) print.take(() => show(text, line))
    }
    print.release()
    return 0
  },
}

function questionOf(parsed: ParsedFlags, { resourceAsked, timeBefore }: View): AuditQuestion {
  const resource = parsed.text('resource')
  const since = parsed.text('since')
  return {
    user: parsed.text('user'),
    verb: parsed.text('verb'),
    resource: resource === undefined ? undefined : resourceAsked(resource),
    namespace: parsed.text('namespace'),
    name: parsed.text('name'),
    cluster: parsed.text('cluster'),
    sinceMs: since === undefined ? undefined : timeBefore(since, Date.now()),
    failedOnly: parsed.isSet('failed'),
  }
}

/** Prints lines at once. If only the last ones are wanted, keeps those until all existing lines have been read. */
function gathering(last: number | undefined, follows: boolean) {
  let kept: Array<() => string> | undefined = last === undefined ? undefined : []
  return {
    take(show: () => string): void {
      if (!kept) return console.log(show())
      kept.push(show)
      if (kept.length > (last ?? 0) * 2) kept = kept.slice(-(last ?? 0))
    },
    release(): void {
      for (const show of kept?.slice(-(last ?? 0)) ?? []) console.log(show())
      kept = follows ? undefined : []
    },
  }
}

function refused(flag: string, reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag, reason })
}
