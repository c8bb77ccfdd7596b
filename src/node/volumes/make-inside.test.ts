import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeInside } from './make-inside.ts'

describe.skipIf(process.platform !== 'linux')('folders that are made in a volume', () => {
  let place: string
  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), 'sluice-inside-'))
    for (const name of ['volume', 'elsewhere']) mkdirSync(join(place, name))
  })
  afterEach(() => rmSync(place, { recursive: true, force: true }))

  it('are made where there are none, and left where there are', () => {
    makeInside(join(place, 'volume'), '/a/./b//c')
    makeInside(join(place, 'volume'), 'a/b/d')
    expect(readdirSync(join(place, 'volume/a/b'))).toEqual(['c', 'd'])
  })

  it('are made nowhere else, though somebody has put a link or a file in the way', () => {
    symlinkSync('../elsewhere', join(place, 'volume/link'))
    writeFileSync(join(place, 'volume/file'), '')
    const before = readdirSync('/proc/self/fd').length
    expect(() => makeInside(join(place, 'volume'), 'link/new')).toThrow('ENOTDIR')
    expect(() => makeInside(join(place, 'volume'), 'file/new')).toThrow('ENOTDIR')
    expect(existsSync(join(place, 'elsewhere/new'))).toBe(false)
    expect(readdirSync('/proc/self/fd').length).toBe(before)
  })
})
