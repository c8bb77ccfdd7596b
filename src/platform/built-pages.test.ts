import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { pageNotes } from './built-pages.ts'

describe('pages that are not built', () => {
  it('are told of until they are there', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-pages-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    expect(pageNotes([folder])).toEqual([expect.stringContaining('`npm start` builds them')])
    writeFileSync(join(folder, 'index.html'), '')
    expect(pageNotes([folder])).toEqual([])
  })
})
