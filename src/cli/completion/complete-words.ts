import type { ArgumentKind, Command, Flag } from '../command.ts'

/** Finds out what there is: models, Pods. It may take a moment, and never fails. */
export type LiveNames = (kind: Extract<ArgumentKind, string>) => Promise<readonly string[]>

/**
 * What a shell can offer for the last of these words, which somebody has begun to type. Nothing for files: shells know
 * them better.
 */
export async function completionsFor(
  words: readonly string[],
  commands: readonly Command[],
  live: LiveNames,
): Promise<readonly string[]> {
  const current = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const offered = await candidates(before, current, commands, live)
  return [...new Set(offered)].filter((word) => word.startsWith(current)).toSorted()
}

async function candidates(
  before: readonly string[],
  current: string,
  commands: readonly Command[],
  live: LiveNames,
): Promise<readonly string[]> {
  const found = commands
    .map((command) => ({ command, name: command.name.split(' ') }))
    .find(({ name }) => name.every((word, index) => before[index] === word))
  if (!found) return nextWords(before, commands)
  const { command, name } = found
  const typed = before.slice(name.length)
  const valued = flagOf(command.flags, typed.at(-1))
  if (valued?.value !== undefined) return valued.choices ?? []
  if (current.startsWith('-')) return [...command.flags.map((flag) => `--${flag.name}`), '--help']
  if (command.completes === undefined || argumentsIn(typed, command.flags) > 0) return []
  return typeof command.completes === 'string' ? live(command.completes) : command.completes
}

/** The first words of commands, or the second ones of a group. */
function nextWords(before: readonly string[], commands: readonly Command[]): readonly string[] {
  const shown = commands.filter(({ hidden }) => hidden !== true).map(({ name }) => name.split(' '))
  if (before.length === 0) return [...shown.map(([first = '']) => first), 'help', '--help', '--version']
  const [group, ...more] = before[0] === 'help' ? before.slice(1) : before
  if (more.length > 0) return []
  if (group === undefined) return shown.map(([first = '']) => first)
  return shown.flatMap(([first, second]) => (first === group && second !== undefined ? [second] : []))
}

function flagOf(flags: readonly Flag[], word: string | undefined): Flag | undefined {
  return flags.find(({ name, short }) => word === `--${name}` || (short !== undefined && word === `-${short}`))
}

/** How many words are neither flags nor their values. */
function argumentsIn(typed: readonly string[], flags: readonly Flag[]): number {
  return typed.filter((word, index) => {
    if (word.startsWith('-')) return false
    return flagOf(flags, typed[index - 1])?.value === undefined
  }).length
}
