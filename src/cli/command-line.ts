import { SluiceError } from '../foundation/errors.ts'
import { commands, findCommand } from './commands.ts'
import { renderGroupHelp, renderHelp } from './help.ts'
import { terminalColumns } from './output/wrapped-text.ts'
import { asksForHelp, runCommand } from './run-command.ts'
import { didYouMean } from './suggestions.ts'
import { versionCommand } from './version.ts'

const versionWords = ['--version', '-v', '-V']

/** Runs what somebody typed after `sluice`. */
export async function runCommandLine(words: readonly string[]): Promise<number> {
  const [first, ...others] = words
  const columns = terminalColumns(process.stdout)
  if (first === undefined || first === '--help' || first === '-h') return say(renderHelp(commands, columns))
  if (first === 'help')
    return others.length === 0 ? say(renderHelp(commands, columns)) : runCommandLine([...others, '--help'])
  if (versionWords.includes(first)) return versionCommand.run(others)
  const found = findCommand(words)
  if (found) return found.rest.includes('--version') ? versionCommand.run([]) : runCommand(found.command, found.rest)
  const group = commands.filter(({ name }) => name.startsWith(`${first} `))
  if (group.length > 0 && (others.length === 0 || asksForHelp(others)))
    return say(renderGroupHelp(first, group, columns))
  throw unknownCommand(words)
}

function say(text: string): number {
  console.log(text)
  return 0
}

function unknownCommand([first = '', second]: readonly string[]): SluiceError {
  const groups = new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))
  if (groups.has(first) && second !== undefined) {
    const command = `${first} ${second}`
    const names = commands.map(({ name }) => name).filter((name) => name.startsWith(`${first} `))
    const said = didYouMean(command, names, shown) || ` \`sluice ${first} --help\` lists them.`
    return new SluiceError('unknown_command', { command, hint: said.trimStart() })
  }
  // Somebody who types `sluice models` or `sluice list` may mean a command of two words.
  const known = [...groups, ...commands.map(({ name }) => name)]
  const meant = didYouMean(first, known, shown) || didYouMean(`${first} ${second ?? ''}`.trim(), known, shown)
  return new SluiceError('unknown_command', {
    command: first,
    hint: `${meant} \`sluice --help\` lists them.`.trimStart(),
  })
}

function shown(name: string): string {
  return `\`sluice ${name}\``
}
