import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { modelFolders } from './model-folders.ts'

describe('modelFolders', () => {
  let root: string
  const put = (path: string) => {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), '')
  }
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'sluice-folders-'))
  })
  afterEach(() => rmSync(root, { recursive: true }))

  it('finds folders with weights, but follows no link and looks not too deep', async () => {
    put('models/a/model.gguf')
    put('models/a/second.gguf')
    put('models/org/b/model-00001-of-00002.safetensors')
    put('models/readme.txt')
    put('single.gguf')
    put('1/2/3/4/5/model.gguf')
    symlinkSync(join(root, 'models'), join(root, 'link'))
    expect(await modelFolders(root)).toEqual(['models/a', 'models/org/b', 'single.gguf'])
  })

  it('finds nothing where there is nothing', async () => {
    expect(await modelFolders(join(root, 'none'))).toEqual([])
  })
})
