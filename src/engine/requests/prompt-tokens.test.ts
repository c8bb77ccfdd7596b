import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LlamaText, type LlamaModel, SpecialToken, SpecialTokensText, getLlama } from 'node-llama-cpp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../llama/native/loaded-model.ts'
import { PromptTokenizer } from './prompt-tokens.ts'
import { loadModelFile } from '../test-support/loaded-model.fixture.ts'
import { writeTinyModel } from '../models/tiny-model.ts'

const { signal } = new AbortController()
const tooLong = expect.objectContaining({ code: 'context_length_exceeded' })

describe('PromptTokenizer', () => {
  let folder: string
  let library: LlamaModel
  let model: LoadedModel
  let tokenizer: PromptTokenizer

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-engine-'))
    const modelPath = join(folder, 'tiny.gguf')
    await writeTinyModel(modelPath)
    const llama = await getLlama({ gpu: false, build: 'never', skipDownload: true, progressLogs: false })
    library = await llama.loadModel({ modelPath, gpuLayers: 0 })
    model = await loadModelFile(modelPath)
    tokenizer = new PromptTokenizer(model)
  }, 60_000)
  afterAll(async () => {
    await model.dispose()
    await library.llama.dispose()
    await rm(folder, { recursive: true })
  })

  const markup = (text: string) => new SpecialTokensText(text)

  it.each([
    ['nothing', LlamaText([])],
    ['a text', LlamaText(['  in the <|im_end|>', ' end'])],
    ['markup first', LlamaText([markup('<|im_start|>user\n'), 'Hi <|im_end|>', markup('<|im_end|>\n')])],
    ['a text first', LlamaText([' the', markup(' <|im_end|> the'), new SpecialToken('EOS'), '\n', markup('x')])],
    ['no text between', LlamaText([new SpecialToken('BOS'), markup('a'), new SpecialToken('EOT'), markup('')])],
    ['broken and joined characters', LlamaText(['\ud83d', '👩‍👩‍👧 é 中', markup('\udc00')])],
    ['many', LlamaText(Array.from({ length: 3000 }, (_, n) => (n % 2 ? markup('<|im_end|>\n') : `the ${n}`)))],
  ])('makes the same tokens as the library of %s', async (_, text) => {
    expect(await tokenizer.templated(text, 1_000_000, signal)).toEqual(text.tokenize(library.tokenizer))
  })

  it('refuses what is too long as soon as that is known, not after all of it', async () => {
    const counted: number[] = []
    const counting = Object.assign(Object.create(model) as LoadedModel, {
      tokenize: (text: string) => {
        counted.push(text.length)
        return model.tokenize(text)
      },
    })
    await expect(new PromptTokenizer(counting).text('x'.repeat(2_000_000), 4096, signal)).rejects.toThrow(tooLong)
    expect(counted).toEqual([32_768])
    await expect(tokenizer.text('x'.repeat(4096 * 512 + 1), 4096, signal)).rejects.toThrow(tooLong)
    const turns = LlamaText(Array.from({ length: 200 }, () => markup('<|im_end|>\n')))
    await expect(tokenizer.templated(turns, 100, signal)).rejects.toThrow(tooLong)
  })

  it('goes no further for a client that has left', async () => {
    const leave = new AbortController()
    const tokenizing = tokenizer.text('x'.repeat(200_000), 1_000_000, leave.signal)
    leave.abort(new Error('left'))
    await expect(tokenizing).rejects.toThrow('left')
  })
})
