import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorCatalog } from '../src/foundation/error-catalog.ts'

const page = readFileSync(new URL('../docs/reference/errors.md', import.meta.url), 'utf8')
const rows = [...page.matchAll(/^\| `([a-z_]+)` +\| (\d{3}) +\|/gm)].map(
  (match) => [match[1], Number(match[2])] as const,
)

describe('docs/reference/errors.md', () => {
  it('lists every code of the catalog with its status, once, and no other', () => {
    const documented = Object.fromEntries(rows)
    const declared = Object.fromEntries(Object.entries(errorCatalog).map(([code, entry]) => [code, entry.status]))
    expect(documented).toEqual(declared)
    expect(rows.length).toBe(Object.keys(declared).length)
  })
})
