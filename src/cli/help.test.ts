import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { commands } from './commands.ts'
import { exitCodes } from './exit-codes.ts'
import { renderCommandHelp, renderGroupHelp, renderHelp } from './help.ts'

describe('the help', () => {
  it('lists every command', () => {
    expect(renderHelp(commands)).toMatchSnapshot()
  })

  it.each(commands.map((command) => [command.name, command] as const))('of sluice %s', (_name, command) => {
    expect(renderCommandHelp(command)).toMatchSnapshot()
  })

  it('of a group lists its commands', () => {
    const ofModels = commands.filter(({ name }) => name.startsWith('model '))
    expect(renderGroupHelp('model', ofModels)).toMatchSnapshot()
  })

  it('fits on a terminal of 80 columns, and loses no word', () => {
    const pages = (columns?: number) => [
      renderHelp(commands, columns),
      ...commands.map((one) => renderCommandHelp(one, columns)),
    ]
    const words = (page: string) => page.split(/\s+/)
    expect(pages(80).map(words)).toEqual(pages().map(words))
    expect(
      renderHelp(commands, 80)
        .split('\n')
        .filter((line) => line.length > 80),
    ).toEqual([])
  })

  it('has an example of every command, which is that command with flags that it has', () => {
    for (const { name, example, flags } of commands.filter((command) => command.name !== 'version')) {
      for (const line of example.split('\n')) {
        expect(line).toContain(`sluice ${name}`)
        // What comes after `--` is for another command.
        const [ours = ''] = line.slice(line.indexOf('sluice ')).split(' -- ')
        const used = [...ours.matchAll(/ --([a-z0-9-]+)/g)].map(([, flag]) => flag)
        expect(flags.map((flag) => flag.name)).toEqual(expect.arrayContaining(used))
      }
    }
  })

  it('has the exit codes of docs/reference/command-line.md', () => {
    const page = readFileSync(new URL('../../docs/reference/command-line.md', import.meta.url), 'utf8')
    const documented = [...page.matchAll(/^\| `(\d+)` +\| (.*?) +\|$/gm)].map(([, code, meaning]) => [code, meaning])
    expect(documented).toEqual(Object.entries(exitCodes))
  })
})
