import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findModelFile, modelBytes } from './model-file.ts'

describe('findModelFile', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-model-file-'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  const put = (...names: string[]) => Promise.all(names.map((name) => writeFile(join(folder, name), '')))

  it('takes the one model of a directory, whatever lies beside it', async () => {
    await put('model.gguf', 'README.md', 'chat_template.jinja', '.model.gguf.partial.gguf')
    expect(await findModelFile(folder)).toBe(join(folder, 'model.gguf'))
  })

  it('takes a file as it is', async () => {
    await put('a.gguf', 'b.gguf')
    expect(await findModelFile(join(folder, 'b.gguf'))).toBe(join(folder, 'b.gguf'))
  })

  it('takes the first part of a split model', async () => {
    await put('m-00002-of-00003.gguf', 'm-00001-of-00003.gguf', 'm-00003-of-00003.gguf')
    expect(await findModelFile(folder)).toBe(join(folder, 'm-00001-of-00003.gguf'))
  })

  it('refuses a directory with several models, naming them', async () => {
    await put('a.gguf', 'b.gguf')
    await expect(findModelFile(folder)).rejects.toThrow('several models (a.gguf, b.gguf)')
  })

  it('refuses a directory without a model, a missing path and another kind of file', async () => {
    await expect(findModelFile(folder)).rejects.toThrow('has no .gguf file')
    await expect(findModelFile(join(folder, 'missing'))).rejects.toThrow('cannot be read')
    await put('weights.safetensors')
    await expect(findModelFile(join(folder, 'weights.safetensors'))).rejects.toThrow('is not a .gguf file')
  })

  it('counts the bytes of all parts', async () => {
    await writeFile(join(folder, 'm-00001-of-00002.gguf'), 'one')
    await writeFile(join(folder, 'm-00002-of-00002.gguf'), 'second')
    await writeFile(join(folder, 'other.gguf'), 'another')
    expect(await modelBytes(join(folder, 'm-00001-of-00002.gguf'))).toBe(9)
    expect(await modelBytes(join(folder, 'other.gguf'))).toBe(7)
  })
})
