import * as fc from 'fast-check'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readGgufFileInfo } from 'node-llama-cpp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SluiceError } from '../../foundation/errors.ts'
import { findTestModel, testModelMissing } from '../test-support/test-model.fixture.ts'
import { readGgufHeader } from './gguf-header.ts'
import { tinyModel, tinyPlainTemplate } from './tiny-model.ts'

describe('the header of a model file', () => {
  let folder: string
  const whole = tinyModel({ chatTemplate: tinyPlainTemplate, words: 300 })
  const written = async (bytes: Uint8Array) => {
    const file = join(folder, 'model.gguf')
    await writeFile(file, bytes)
    return file
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-header-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  it('tells texts, numbers, and how long lists are', async () => {
    const header = await readGgufHeader(await written(whole))
    expect(header.architecture).toBe('llama')
    expect(header.text('tokenizer.chat_template')).toBe(tinyPlainTemplate)
    expect(header.number('llama.context_length')).toBe(4096)
    expect(header.number('llama.attention.layer_norm_rms_epsilon')).toBeCloseTo(1e-5, 8)
    expect(header.count('tokenizer.ggml.tokens')).toBe(563)
    expect(header.numbers('tokenizer.ggml.token_type')?.slice(0, 4)).toEqual([3, 3, 3, 1])
    expect(header.number('no.such.key')).toBeUndefined()
  })

  it.each([
    ['another kind of file', Buffer.from('this is no model'), /does not begin with GGUF/],
    ['an empty file', Buffer.alloc(0), /ends in the middle/],
    ['a file that is cut off', whole.subarray(0, 2_000), /ends in the middle/],
    ['an unknown version', patched(4, 9), /version 9/],
    ['more keys than there can be', patched(16, 0xffff_ffff), /4294967295 keys/],
    ['a text without end', patched(28, 0xffff_ffff), /too long/],
  ])('refuses %s and says why', async (_, bytes, reason) => {
    await expect(readGgufHeader(await written(bytes))).rejects.toThrow(reason)
  })

  it('refuses whatever is broken, quickly and in the same way', async () => {
    const broken = fc.array(fc.tuple(fc.nat({ max: 4_000 }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(broken, async (changes) => {
        const bytes = Buffer.from(whole)
        for (const [at, value] of changes) bytes[at] = value
        const file = await written(bytes)
        const code = await readGgufHeader(file).then(
          () => 'read',
          (error: unknown) => (error instanceof SluiceError ? error.code : error),
        )
        expect(['read', 'model_files_unusable']).toContain(code)
      }),
      { numRuns: 200 },
    )
  })

  function patched(at: number, value: number): Buffer {
    const bytes = Buffer.from(whole)
    bytes.writeUInt32LE(value, at)
    return bytes
  }
})

const model = findTestModel()
describe.skipIf(model === undefined)(`the header of SmolLM2${model ? '' : ` (${testModelMissing})`}`, () => {
  it('is what the library reads', async () => {
    const file = model ?? ''
    const [header, info] = [await readGgufHeader(file), await readGgufFileInfo(file, { sourceType: 'filesystem' })]
    expect(header.text('tokenizer.chat_template')).toBe(info.metadata.tokenizer?.chat_template)
    expect(header.count('tokenizer.ggml.tokens')).toBe(info.metadata.tokenizer.ggml.tokens.length)
    expect(header.number('llama.block_count')).toBe(info.architectureMetadata.block_count)
  })
})
