import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { differences } from './kubernetes/differences.ts'

describe('docs/explanation/architecture.md', () => {
  it('lists every difference from Kubernetes that a test names, in the same words', () => {
    const text = readFileSync(join(import.meta.dirname, '../docs/explanation/architecture.md'), 'utf8')
    const rows = new Map([...text.matchAll(/^\| ([^|]+?) +\| ([^|]+?) +\|$/gm)].map(([, name, what]) => [name, what]))
    const missing = Object.entries(differences).filter(([name, what]) => rows.get(name) !== what)
    expect(missing).toEqual([])
  })
})
