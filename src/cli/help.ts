import type { Command, Flag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { besides } from './output/wrapped-text.ts'

/** Shown first to people who look for something to type; everything else follows in its groups. */
const everyday = ['up', 'run', 'chat', 'ps', 'status', 'top', 'logs', 'wake', 'sleep']
/** What others start: chart, node and Pods. */
const forPods = ['controller', 'gateway', 'exposure', 'management', 'serve', 'model cache']

const asLongAsTheyAre = Number.POSITIVE_INFINITY

/** With `columns`, no line is longer where that can be. */
export function renderHelp(commands: readonly Command[], columns = asLongAsTheyAre): string {
  const shown = commands.filter(({ hidden }) => hidden !== true)
  const width = Math.max(...shown.map(({ name }) => name.length))
  const rows = (some: readonly Command[]) => some.map(({ name, summary }) => row(name, width, summary, columns))
  const isAmong = (names: readonly string[]) => (command: Command) => names.includes(command.name)
  const rest = shown.filter((command) => !isAmong([...everyday, ...forPods])(command))
  return [
    'sluice: AI models that cost nothing while nobody asks',
    '',
    'Usage: sluice COMMAND [FLAGS]',
    '',
    ...rows(shown.filter(isAmong(everyday))),
    '',
    ...rows(rest),
    '',
    'What the chart and Pods run:',
    ...rows(shown.filter(isAmong(forPods))),
    '',
    'Exit codes:',
    ...Object.entries(exitCodes).map(([code, meaning]) => row(code, width, meaning, columns)),
    '',
    besides(
      '',
      '`sluice COMMAND --help` says more about one of them, with an example; `sluice --version` says which version this is.',
      columns,
    ),
  ].join('\n')
}

/** The commands of two words that share their first, such as those of `sluice model`. */
export function renderGroupHelp(group: string, commands: readonly Command[], columns = asLongAsTheyAre): string {
  const width = Math.max(...commands.map(({ name }) => name.length))
  return [
    `Usage: sluice ${group} COMMAND [FLAGS]`,
    '',
    ...commands.map(({ name, summary }) => row(name, width, summary, columns)),
    '',
    `\`sluice ${group} COMMAND --help\` says more about one of them.`,
  ].join('\n')
}

export function renderCommandHelp(command: Command, columns = asLongAsTheyAre): string {
  const usage = ['Usage: sluice', command.name, command.positional, command.flags.length > 0 ? '[FLAGS]' : undefined]
  const left = command.flags.map(flagForms)
  const width = Math.max(0, ...left.map((text) => text.length))
  const rows = command.flags.map((flag, index) => {
    const fallback = flag.fallback === undefined ? '' : ` (default ${flag.fallback})`
    return row(left[index] ?? '', width, `${flag.help}${fallback}`, columns)
  })
  return [
    besides('', command.summary, columns),
    '',
    usage.filter(Boolean).join(' '),
    ...(rows.length > 0 ? ['', ...rows] : []),
    '',
    command.example.includes('\n') ? 'Examples:' : 'Example:',
    ...command.example.split('\n').map((line) => `  ${line}`),
  ].join('\n')
}

function row(left: string, width: number, text: string, columns: number): string {
  return besides(`  ${left.padEnd(width)}  `, text, columns)
}

function flagForms({ short, name, value }: Flag): string {
  return `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`
}
