import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { bringModel, readSource, usualName } from './bring-model.ts'

const scratch = mkdtempSync(join(tmpdir(), 'sluice-bring-'))
afterAll(() => rmSync(scratch, { recursive: true }))
const data = join(scratch, 'data')
const place = { kind: 'data', data, saidBy: '--data' } as const
const signal = new AbortController().signal
const bring = (path: string, name: string, engine = 'LlamaCpp') =>
  bringModel({ source: readSource(path), name, place, engine, signal })

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
    await bring(from, 'whole', 'VLLM')
    expect(readdirSync(folder('whole'))).toEqual(['config.json'])
  })

  it('are found behind links, as caches of downloads have them', async () => {
    const from = join(scratch, 'snapshot')
    mkdirSync(from)
    writeFileSync(join(scratch, 'blob'), 'GGUF of the cache')
    symlinkSync('../blob', join(from, 'model.gguf'))
    await bring(from, 'linked')
    await bring(join(from, 'model.gguf'), 'linked-file')
    for (const name of ['linked', 'linked-file']) {
      expect(lstatSync(join(folder(name), 'model.gguf')).isFile()).toBe(true)
      expect(readFileSync(join(folder(name), 'model.gguf'), 'utf8')).toBe('GGUF of the cache')
    }
  })

  it.each([
    ['none', ['config.json', 'model.safetensors'], '--engine VLLM'],
    ['several', ['a.gguf', 'b.gguf'], /several models \(a\.gguf, b\.gguf\)\. Name one, such as .*a\.gguf/],
  ])('are refused before anything is copied: a folder with %s', async (name, files, reason) => {
    const from = join(scratch, name)
    mkdirSync(from)
    for (const file of files) writeFileSync(join(from, file), 'GGUF')
    await expect(bring(from, name)).rejects.toThrow(reason)
    expect(existsSync(folder(name))).toBe(false)
  })

  it.each([
    ['other.gguf', 'it is no GGUF file'],
    ['missing.gguf', 'there is no such file'],
  ])('are refused: %s', async (file, reason) => {
    writeFileSync(join(scratch, 'other.gguf'), 'text')
    await expect(bring(join(scratch, file), 'bad')).rejects.toThrow(reason)
  })

  it('cannot be put into a Kubernetes from here', async () => {
    const source = readSource('./m.gguf')
    const elsewhere = { kind: 'kubeconfig', path: 'k', context: undefined } as const
    await expect(bringModel({ source, name: 'm', place: elsewhere, engine: 'LlamaCpp', signal })).rejects.toThrow(
      'pvc://CLAIM/PATH',
    )
  })
})
