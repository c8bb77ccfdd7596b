import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readModelCompanions } from './model-companions.ts'

describe('readModelCompanions', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-companions-'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  const read = () => readModelCompanions(join(folder, 'model.gguf'))

  it('has defaults of its own for a model that comes alone', async () => {
    expect(await read()).toEqual({
      chatTemplate: undefined,
      samplingDefaults: { temperature: 0.7, topP: 0.95, topK: 40, minP: 0.05, repetitionPenalty: 1 },
    })
  })

  it('reads the template and the sampling that lie beside the model', async () => {
    await writeFile(join(folder, 'chat_template.jinja'), '{{ messages }}')
    await writeFile(join(folder, 'generation_config.json'), '{"temperature":0.2,"top_k":-1,"eos_token_id":2}')
    const { chatTemplate, samplingDefaults } = await read()
    expect(chatTemplate).toBe('{{ messages }}')
    expect(samplingDefaults).toMatchObject({ temperature: 0.2, topK: 0, topP: 0.95 })
  })

  it.each(['{', '{"temperature":"hot"}', '[]'])('refuses a generation_config.json of %s', async (text) => {
    await writeFile(join(folder, 'generation_config.json'), text)
    await expect(read()).rejects.toThrow(/generation_config\.json cannot be used/)
  })
})
