import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConsoleUploads } from './console-uploads.ts'

const never = new AbortController().signal
let data: string
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'sluice-uploads-'))
})
afterEach(() => rmSync(data, { recursive: true }))

const placed = (name: string) => join(data, 'volumes/userdata/models', name)
const gathered = () => readdirSync(join(data, 'uploads'))

async function* pieces(...texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(text)
}

function begin(files: Record<string, number>, name = 'mine') {
  return new ConsoleUploads(data).begin(
    name,
    Object.entries(files).map(([file, bytes]) => ({ name: file, bytes })),
  )
}

describe('files of a model that is uploaded', () => {
  it('appear all at once, for every engine to read', async () => {
    const upload = await begin({ 'a.gguf': 6, 'empty.json': 0 })
    await upload.write('a.gguf', 0, pieces('GG', 'U'), never)
    expect(upload.isWhole()).toBe(false)
    expect(() => statSync(placed('mine'))).toThrow('ENOENT')
    await upload.write('a.gguf', 3, pieces('F..'), never)
    expect(upload.isWhole()).toBe(true)
    expect(await upload.finish()).toBe('pvc://userdata/models/mine')
    expect(readdirSync(placed('mine')).sort()).toEqual(['a.gguf', 'empty.json'])
    expect(readFileSync(join(placed('mine'), 'a.gguf'), 'utf8')).toBe('GGUF..')
    expect(statSync(placed('mine')).mode & 0o777).toBe(0o755)
    expect(statSync(join(placed('mine'), 'a.gguf')).mode & 0o777).toBe(0o644)
    expect(gathered()).toEqual([])
  })

  it('go on where they broke off, and nowhere else', async () => {
    const upload = await begin({ 'a.gguf': 6 })
    const breaking = async function* () {
      yield Buffer.from('GGUF')
      throw new Error('the connection broke')
    }
    await expect(upload.write('a.gguf', 0, breaking(), never)).rejects.toThrow('broke')
    expect(upload.received()).toEqual(new Map([['a.gguf', 4]]))
    await expect(upload.write('a.gguf', 0, pieces('GGUF'), never)).rejects.toThrow('There are 4 bytes')
    await upload.write('a.gguf', 4, pieces('..'), never)
    expect(upload.isWhole()).toBe(true)
  })

  it.each([
    ['that are no model', 'a.gguf', ['G', 'IF8'], 'is no GGUF file'],
    ['that are longer than was said', 'a.gguf', ['GGUF', '....'], 'more than the 6 bytes'],
    ['that nobody announced', 'b.gguf', ['GGUF'], 'no file of this upload b.gguf'],
  ])('%s are refused', async (_name, file, texts, words) => {
    const upload = await begin({ 'a.gguf': 6 })
    await expect(upload.write(file, 0, pieces(...texts), never)).rejects.toThrow(words)
  })

  it('are refused where there is no room for them, or files of that name', async () => {
    await expect(begin({ 'a.gguf': 2 ** 52 })).rejects.toThrow(/have 4194304.0 GiB, and there is room for \d/)
    mkdirSync(placed('mine'), { recursive: true })
    writeFileSync(join(placed('mine'), 'b.gguf'), 'GGUF')
    await expect(begin({ 'a.gguf': 6 })).rejects.toThrow('Choose another name')
  })

  it('leave nothing behind when they are given up, before and after they are whole', async () => {
    const upload = await begin({ 'a.gguf': 4 })
    await upload.write('a.gguf', 0, pieces('GGUF'), never)
    await upload.discard()
    expect(gathered()).toEqual([])
    const second = await begin({ 'a.gguf': 4 })
    await second.write('a.gguf', 0, pieces('GGUF'), never)
    await second.finish()
    await second.discard()
    expect(() => statSync(placed('mine'))).toThrow('ENOENT')
  })

  it('of a program that was killed are removed by the next', async () => {
    await begin({ 'a.gguf': 4 }, 'lost')
    expect(gathered()).toHaveLength(1)
    await begin({ 'a.gguf': 4 }, 'next')
    expect(gathered()).toEqual([expect.stringMatching(/^next-/)])
  })
})
