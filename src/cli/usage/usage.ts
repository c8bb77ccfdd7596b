import { systemClock } from '../../foundation/clock.ts'
import { SluiceError } from '../../foundation/errors.ts'
import type { UsageQuestion } from '../../resources/usage-summary.ts'
import type { Command, Flag } from '../command.ts'
import { withConnection } from '../connection/cluster-connection.ts'
import { clusterFlags } from '../connection/cluster-place.ts'
import { type ParsedFlags, parseFlags } from '../flags.ts'
import { outputFlag, outputForm } from '../output/output-flag.ts'
import { asData } from '../output/print-output.ts'

const flags: readonly Flag[] = [
  ...clusterFlags,
  {
    name: 'by',
    value: 'model|key|day',
    fallback: 'model',
    help: 'a row for each; several with commas, such as day,model',
  },
  {
    name: 'since',
    value: 'TIME',
    fallback: '30d',
    help: 'from this day on: 7d ago, or a date such as 2031-01-31 (UTC)',
  },
  { name: 'model', value: 'NAME', help: 'only what this model answered' },
  { name: 'key', value: 'NAME', help: 'only what was asked with this key' },
  { ...outputFlag, help: 'json or yaml: everything, for programs; wide: all figures; name: what was used only' },
]

const deadlineMs = 30_000

export const usageCommand: Command = {
  name: 'usage',
  summary: 'Show requests, tokens and card time of models, and what sleeping saved, by model, key or day.',
  example: 'sluice usage --since 7d\nsluice usage --by day,model -o json',
  flags,
  async run(args) {
    const parsed = parseFlags(flags, args)
    if (parsed.positionals.length > 0) throw refused('sluice usage', 'it takes flags only; --help lists them.')
    const form = outputForm(parsed)
    const [{ connectUsage }, { renderUsage, groupingsOf, firstDay }] = await Promise.all([
      import('../../platform/usage/cluster-usage.ts'),
      import('./usage-view.ts'),
    ])
    const question: UsageQuestion = {
      by: groupingsOf(parsed.text('by') ?? ''),
      since: firstDay(parsed.text('since') ?? '', systemClock.now()),
      model: named(parsed, 'model'),
      key: named(parsed, 'key'),
    }
    const signal = AbortSignal.timeout(deadlineMs)
    const summary = await withConnection(parsed, connectUsage, (usage) => usage.summarize(question, signal))
    const { since, by } = question
    if (form === 'json' || form === 'yaml') process.stdout.write(await asData({ since, by, ...summary }, form))
    else if (form === 'name') for (const row of summary.rows) console.log(by.map((part) => row[part] ?? '-').join('/'))
    else console.log(renderUsage(summary, question, form === 'wide'))
    return 0
  },
}

function named(parsed: ParsedFlags, flag: string): string | undefined {
  const name = parsed.text(flag)
  if (name === '') throw refused(`--${flag}`, 'it must not be empty.')
  return name
}

function refused(flag: string, reason: string): SluiceError {
  return new SluiceError('invalid_flag', { flag, reason })
}
