import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { claimFolder, releaseClaimFolder, reserveClaimFolder } from './claim-folder.ts'

describe('the folder of a claim', () => {
  let volumes: string
  beforeEach(() => {
    volumes = mkdtempSync(join(tmpdir(), 'sluice-claims-'))
  })
  afterEach(() => rmSync(volumes, { recursive: true }))

  const folderOf = (namespace: string, claim = 'data') => claimFolder(volumes, namespace, claim)

  it('has its name, and is not that of a claim of the same name in another namespace', () => {
    expect(folderOf('shop')).toBe(join(volumes, 'data'))
    expect(folderOf('other')).toBe(join(volumes, 'data@other'))
    expect(folderOf('shop')).toBe(join(volumes, 'data'))
    expect(folderOf('other', 'more')).toBe(join(volumes, 'more'))
  })

  it('is kept for whom it was reserved, and free again when its files are gone', () => {
    reserveClaimFolder(volumes, 'sluice', 'userdata')
    expect(folderOf('shop', 'userdata')).toBe(join(volumes, 'userdata@shop'))
    releaseClaimFolder(volumes, 'shop', 'userdata')
    expect(folderOf('shop', 'userdata')).toBe(join(volumes, 'userdata@shop'))
    releaseClaimFolder(volumes, 'sluice', 'userdata')
    expect(folderOf('shop', 'userdata')).toBe(join(volumes, 'userdata'))
  })

  it('is the next one’s when a crash left half of who has it', () => {
    folderOf('shop')
    writeFileSync(join(volumes, '.owners', 'data'), '')
    expect(folderOf('other')).toBe(join(volumes, 'data'))
  })
})
