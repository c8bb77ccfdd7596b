import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { bringModel, readSource, usualName } from './bring-model.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-bring-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const data = join(scratch, 'data')
const place = { kind: 'data', data, saidBy: '--data' } as const
const signal = new AbortController().signal
const bring = (path: string, name: string) => bringModel({ source: readSource(path), name, place, signal })

describe('where a model comes from', () => {
  it.each([
    ['smollm2', 'fetched'],
    ['hf:org/repo/file.gguf', 'fetched'],
    ['https://example.com/file.gguf', 'fetched'],
    ['pvc://userdata/m', 'claim'],
    ['./m', 'path'],
    ['/srv/models/m', 'path'],
    ['file.gguf', 'path'],
    [scratch, 'path'],
  ])('%s', (text, kind) => {
    expect(readSource(text).kind).toBe(kind)
  })

  it.each([
    ['/x/My Model_Q4.gguf', 'my-model-q4'],
    ['/x/big-00001-of-00003.gguf', 'big'],
    ['hf:org/repo/SmolLM2.Q4.gguf', 'smollm2.q4'],
    ['pvc://userdata/models/llama', 'llama'],
  ])('%s is called %s', async (text, name) => {
    expect(await usualName(readSource(text))).toBe(name)
  })
})

describe('files of this machine', () => {
  const folder = (name: string) => join(data, 'volumes/userdata/models', name)

  it('are put into the claim, with all parts of what is split', async () => {
    for (const part of [1, 2]) writeFileSync(join(scratch, `big-0000${part}-of-00002.gguf`), `GGUF${part}`)
    expect(await bring(join(scratch, 'big-00001-of-00002.gguf'), 'big')).toBe('pvc://userdata/models/big')
    expect(readdirSync(folder('big'))).toEqual(['big-00001-of-00002.gguf', 'big-00002-of-00002.gguf'])
    expect(readFileSync(join(folder('big'), 'big-00002-of-00002.gguf'), 'utf8')).toBe('GGUF2')
  })

  it('may be a folder', async () => {
    const from = join(scratch, 'folder')
    mkdirSync(from)
    writeFileSync(join(from, 'config.json'), '{}')
    await bring(from, 'whole')
    expect(readdirSync(folder('whole'))).toEqual(['config.json'])
  })

  it.each([
    ['other.gguf', 'it is no GGUF file'],
    ['missing.gguf', 'ENOENT'],
  ])('are refused: %s', async (file, reason) => {
    writeFileSync(join(scratch, 'other.gguf'), 'text')
    await expect(bring(join(scratch, file), 'bad')).rejects.toThrow(reason)
  })

  it('cannot be put into a Kubernetes from here', async () => {
    const source = readSource('./m.gguf')
    const elsewhere = { kind: 'kubeconfig', path: 'k', context: undefined } as const
    await expect(bringModel({ source, name: 'm', place: elsewhere, signal })).rejects.toThrow('pvc://CLAIM/PATH')
  })
})
