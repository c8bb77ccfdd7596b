import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { programFolders, settings } from '../src/node/isolation/machine-view.ts'

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

describe('docs/explanation/security.md', () => {
  const rows = [...read('docs/explanation/security.md').matchAll(/^\| [^|]+ \| `([^`]+\.test\.ts)`: ([^|]+?) +\|$/gm)]

  it('names for each threat a test that is there', () => {
    const missing = rows.filter(([, path = '', name = '']) => !read(path).includes(`'${name}'`))
    expect(missing.map(([row]) => row)).toEqual([])
  })

  it('has a table that can be read', () => {
    const section = read('docs/explanation/security.md').split('## Threats and tests')[1]?.split('\n## ')[0] ?? ''
    const lines = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
    expect(lines.length - 1).toBe(rows.length)
    expect(rows.length).toBeGreaterThan(20)
  })
})

describe('docs/explanation/sandbox.md', () => {
  /** The names in the list that follows a mark. */
  const listed = (mark: string) => {
    const list = read('docs/explanation/sandbox.md').split(`<!-- ${mark} -->\n\n`)[1]?.split('\n\n')[0] ?? ''
    return [...list.matchAll(/`([^`]+)`/g)].map(([, name]) => name)
  }

  it('lists all that containers without an image see of the machine, and nothing else', () => {
    expect(listed('programFolders')).toEqual([...programFolders])
    expect(listed('settings')).toEqual([...settings])
  })
})
