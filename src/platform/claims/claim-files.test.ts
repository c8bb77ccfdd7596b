import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClaimFiles } from './claim-files.ts'

const gguf = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(60)])

describe('ClaimFiles', () => {
  let volumes: string
  beforeEach(() => {
    volumes = mkdtempSync(join(tmpdir(), 'sluice-volumes-'))
    mkdirSync(join(volumes, 'userdata/models/full'), { recursive: true })
    mkdirSync(join(volumes, 'userdata/models/empty'))
    mkdirSync(join(volumes, 'userdata-of-another'))
    writeFileSync(join(volumes, 'userdata/models/full/model.gguf'), gguf)
    symlinkSync('../..', join(volumes, 'userdata/models/out'))
    symlinkSync('../../userdata-of-another', join(volumes, 'userdata/models/sideways'))
    symlinkSync('full', join(volumes, 'userdata/models/within'))
  })
  afterEach(() => rmSync(volumes, { recursive: true, force: true }))

  it.each([
    ['models/full', 'present', ''],
    ['models/within', 'present', ''],
    ['models/empty', 'missing', 'is empty'],
    ['models/none', 'missing', 'There is nothing at pvc://userdata/models/none'],
    ['models/sideways', 'missing', 'leads out of the claim'],
    ['models/out', 'missing', 'leads out of the claim'],
  ])('%s is %s', (path, state, message) => {
    const check = new ClaimFiles(volumes).check('userdata', path)
    expect(check.state).toBe(state)
    expect(check.message ?? '').toContain(message)
  })

  it.each<[string, Record<string, string | Buffer>, string, RegExp]>([
    ['one model', { 'a.gguf': gguf, 'chat_template.jinja': '' }, 'present', /^$/],
    ['all parts of one', { 'a-00001-of-00002.gguf': gguf, 'a-00002-of-00002.gguf': gguf }, 'present', /^$/],
    [
      'one with a part missing',
      { 'a-00001-of-00002.gguf': gguf },
      'unusable',
      /a-00002-of-00002\.gguf is missing from \//,
    ],
    [
      'two',
      { 'a.gguf': gguf, 'b.gguf': gguf },
      'unusable',
      /several models \(a\.gguf, b\.gguf\).*such as pvc:.*\/a\.gguf/,
    ],
    ['none', { 'model.safetensors': '' }, 'unusable', /no \.gguf file in it: put one into \//],
    [
      'another kind of file',
      { 'a.gguf': 'PK and so on, for longer than a header' },
      'unusable',
      /a\.gguf .* is not a GGUF model/,
    ],
    ['the beginning of one', { 'a.gguf': gguf.subarray(0, 20) }, 'unusable', /cut off/],
  ])('a folder with %s', (_, files, state, message) => {
    const folder = join(volumes, 'userdata/models/tried')
    mkdirSync(folder)
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    const check = new ClaimFiles(volumes).check('userdata', 'models/tried', 'gguf')
    expect(check.state).toBe(state)
    expect(check.message ?? '').toMatch(message)
    // Another engine has other files, and knows itself whether it can use them.
    expect(new ClaimFiles(volumes).check('userdata', 'models/tried').state).toBe('present')
  })

  it('takes the one file that a URL names', () => {
    writeFileSync(join(volumes, 'userdata/models/full/other.gguf'), gguf)
    const check = (path: string) => new ClaimFiles(volumes).check('userdata', path, 'gguf').state
    expect(check('models/full')).toBe('unusable')
    expect(check('models/full/other.gguf')).toBe('present')
  })

  it('takes what is there, though it could not be fetched', () => {
    const files = new ClaimFiles(volumes, () => ({ message: 'no network', pending: false }))
    expect(files.check('userdata', 'models/full', 'gguf')).toEqual({ state: 'present' })
    expect(files.check('userdata', 'models/empty', 'gguf')).toMatchObject({ state: 'missing', message: 'no network' })
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
