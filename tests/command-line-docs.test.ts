import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { upCommand } from '../src/cli/up.ts'

describe('docs/reference/command-line.md', () => {
  it('lists the flags of sluice up as the program knows them', () => {
    const page = readFileSync(new URL('../docs/reference/command-line.md', import.meta.url), 'utf8')
    const documented = [...page.matchAll(/^\| `--([a-z0-9-]+)(?: ([^`]+))?` +\| (.*?) +\| `?(.*?)`? +\|$/gm)].map(
      (row) => row.slice(1, 5),
    )
    expect(documented).toEqual(upCommand.flags.map((flag) => [flag.name, flag.value, flag.help, flag.fallback ?? '']))
  })
})
