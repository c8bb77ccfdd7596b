import type { Command } from './command.ts'

export function renderHelp(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => command.name.length))
  return [
    'sluice: AI models that cost nothing while nobody asks',
    '',
    'Usage: sluice COMMAND [FLAGS]',
    '',
    ...commands.map((command) => `  ${command.name.padEnd(width)}  ${command.summary}`),
    '',
    '`sluice COMMAND --help` says more about one of them.',
  ].join('\n')
}

export function renderCommandHelp(command: Command): string {
  const usage = ['Usage: sluice', command.name, command.positional, command.flags.length > 0 ? '[FLAGS]' : undefined]
  const left = command.flags.map(
    (flag) =>
      `${flag.short ? `-${flag.short}, ` : ''}--${flag.name}${flag.value === undefined ? '' : ` ${flag.value}`}`,
  )
  const width = Math.max(0, ...left.map((text) => text.length))
  const rows = command.flags.map((flag, index) => {
    const fallback = flag.fallback === undefined ? '' : ` (default ${flag.fallback})`
    return `  ${(left[index] ?? '').padEnd(width)}  ${flag.help}${fallback}`
  })
  return [command.summary, '', usage.filter(Boolean).join(' '), ...(rows.length > 0 ? ['', ...rows] : [])].join('\n')
}
