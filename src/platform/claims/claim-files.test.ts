import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClaimFiles } from './claim-files.ts'

describe('ClaimFiles', () => {
  let volumes: string
  beforeEach(() => {
    volumes = mkdtempSync(join(tmpdir(), 'sluice-volumes-'))
    mkdirSync(join(volumes, 'userdata/models/full'), { recursive: true })
    mkdirSync(join(volumes, 'userdata/models/empty'))
    mkdirSync(join(volumes, 'userdata-of-another'))
    writeFileSync(join(volumes, 'userdata/models/full/model.gguf'), 'x')
    symlinkSync('../..', join(volumes, 'userdata/models/out'))
    symlinkSync('../../userdata-of-another', join(volumes, 'userdata/models/sideways'))
    symlinkSync('full', join(volumes, 'userdata/models/within'))
  })
  afterEach(() => rmSync(volumes, { recursive: true, force: true }))

  it.each([
    ['models/full', 'present', ''],
    ['models/within', 'present', ''],
    ['models/empty', 'missing', 'is empty'],
    ['models/none', 'missing', 'there is nothing at pvc://userdata/models/none'],
    ['models/sideways', 'missing', 'leads out of the claim'],
    ['models/out', 'missing', 'leads out of the claim'],
  ])('%s is %s', (path, state, message) => {
    const check = new ClaimFiles(volumes).check('userdata', path)
    expect(check.state).toBe(state)
    expect(check.message ?? '').toContain(message)
  })

  it('says that files are on their way', () => {
    const files = new ClaimFiles(volumes, () => ({ message: 'fetching, 40 %', pending: true }))
    expect(files.check('userdata', 'models/none')).toEqual({
      state: 'missing',
      message: 'fetching, 40 %',
      pending: true,
    })
  })
})
