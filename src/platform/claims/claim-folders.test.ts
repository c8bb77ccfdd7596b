import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClaimFolders } from './claim-folders.ts'

describe('ClaimFolders', () => {
  let data: string
  let folders: ClaimFolders
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), 'sluice-claims-'))
    folders = new ClaimFolders(join(data, 'volumes'))
  })
  afterEach(() => rmSync(data, { recursive: true, force: true }))

  const path = (...parts: string[]) => join(data, 'volumes', ...parts)

  it('makes a folder, and says when something is in it already', async () => {
    expect(await folders.prepare('data', 'shop')).toBe('empty')
    expect(await folders.prepare('data', 'shop')).toBe('empty')
    writeFileSync(path('data', 'file'), 'x')
    expect(await folders.prepare('data', 'shop')).toBe('filled')
  })

  it('removes a folder with all that is in it, and what a killed removal has left', async () => {
    await folders.prepare('data', 'shop')
    mkdirSync(path('data/deep/er'), { recursive: true })
    writeFileSync(path('data/deep/er/file'), 'x')
    mkdirSync(path('.removed-other-123456'))
    await folders.prepare('other', 'shop')
    await folders.remove('data', 'shop')
    await folders.remove('never-there', 'shop')
    expect(readdirSync(path())).toEqual(['.owners', 'other'])
  })

  it('has another folder for a claim of the same name in another namespace, and removes only its own', async () => {
    await folders.prepare('data', 'shop')
    writeFileSync(path('data', 'file'), 'x')
    expect(await folders.prepare('data', 'other')).toBe('empty')
    await folders.remove('data', 'other')
    expect(existsSync(path('data', 'file'))).toBe(true)
    await folders.remove('data', 'shop')
    expect(readdirSync(path())).toEqual(['.owners'])
  })

  it('never reaches through a link', async () => {
    mkdirSync(join(data, 'elsewhere'))
    writeFileSync(join(data, 'elsewhere/file'), 'x')
    await folders.prepare('data', 'shop')
    symlinkSync(join(data, 'elsewhere'), path('linked'))
    symlinkSync(join(data, 'elsewhere'), path('data/inner'))
    expect(await folders.prepare('linked', 'shop')).toBe('filled')
    await folders.remove('linked', 'shop')
    await folders.remove('data', 'shop')
    expect(existsSync(join(data, 'elsewhere/file'))).toBe(true)
    expect(readdirSync(path())).toEqual(['.owners', 'linked'])
  })

  it.each(['..', '../data', 'a/b', '', '.hidden', 'a..b'])('refuses %j as the name of a claim', async (name) => {
    await expect(folders.prepare(name, 'shop')).rejects.toThrow('cannot be the name of a claim')
    await expect(folders.remove(name, 'shop')).rejects.toThrow('cannot be the name of a claim')
  })
})
