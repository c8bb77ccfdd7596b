import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Command } from '../src/cli/command.ts'
import { commands, findCommand } from '../src/cli/commands.ts'
import { upCommand } from '../src/cli/up.ts'
import { fencedBlocks } from './support/markdown.ts'

const root = join(import.meta.dirname, '..')
const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md') && !name.startsWith('decisions'))
  .map((name) => join('docs', name))
  .concat('README.md', 'examples/README.md', 'CONTRIBUTING.md')

/** `sluice …` and `npm start -- …` wherever a page shows them, as words. */
const shown = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), 'utf8')
  const blocks = fencedBlocks(text).filter(({ language }) => language === 'sh')
  const lines = blocks.flatMap((block) => block.text.replaceAll('\\\n', ' ').split('\n'))
  const quoted = [...text.replaceAll(/^```[^]*?^```$/gm, '').matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '')
  return [...lines, ...quoted].flatMap(commandsOf).map((words) => ({ page, words }))
})

/** The commands of a line, without comments and without what is written to files. */
function commandsOf(line: string): string[][] {
  return line
    .replace(/(?:^|\s)#\s.*$/, '')
    .split(/\s*(?:&&|\\?\||;|\$\(|<\()\s*/)
    .map((command) => command.replace(/^sudo /, '').replace(/^(?:bin\/sluice|npm start --|npm start) /, aliasOf))
    .filter((command) => command.startsWith('sluice '))
    .map((command) =>
      command
        .replace(/[)\s]*(?:>.*)?$/, '')
        .split(/\s+/)
        .slice(1),
    )
}

function aliasOf(start: string): string {
  return start.startsWith('npm') ? 'sluice up ' : 'sluice '
}

/** Flags that a command does not have; what follows `--` is for `sluice up`. */
function unknownFlags(command: Command, rest: readonly string[]): string[] {
  const end = rest.indexOf('--')
  const own = end < 0 ? rest : rest.slice(0, end)
  const unknown = flagsIn(own).filter((flag) => !knows(command, flag))
  return end < 0 ? unknown : [...unknown, ...flagsIn(rest.slice(end + 1)).filter((flag) => !knows(upCommand, flag))]
}

function flagsIn(words: readonly string[]): string[] {
  return words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.replace(/=.*$/, ''))
}

function knows({ flags }: Command, flag: string): boolean {
  if (['--help', '-h', '--version'].includes(flag)) return true
  return flags.some(({ name, short }) => flag === `--${name}` || flag === `-${short}`)
}

describe('what pages tell people to type', () => {
  it('are commands that there are, with flags that they have', () => {
    expect(shown.length).toBeGreaterThan(100)
    const groups = new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))
    const wrong = shown.filter(({ words }) => {
      const found = findCommand(words)
      if (found) return unknownFlags(found.command, found.rest).length > 0
      // `sluice model`, `sluice COMMAND --help` and `sluice --version` are about several commands.
      return (
        !(words.length === 1 && groups.has(words[0] ?? '')) && !/^(?:COMMAND|--(?:help|version))$/.test(words[0] ?? '')
      )
    })
    expect(wrong.map(({ page, words }) => `${page}: sluice ${words.join(' ')}`)).toEqual([])
  })
})
