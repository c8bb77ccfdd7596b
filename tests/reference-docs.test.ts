import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { referencePages } from '../scripts/reference/reference-pages.ts'

describe('docs/reference', () => {
  it('has every command, field and route as the code has it (else run scripts/write-reference.ts)', async () => {
    const pages = await referencePages()
    expect(pages.map(({ path }) => readFileSync(path, 'utf8'))).toEqual(pages.map(({ text }) => text))
  })
})
