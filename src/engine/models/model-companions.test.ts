import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { chooseSampling, readModelCompanions } from './model-companions.ts'

describe('readModelCompanions', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-companions-'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  const read = () => readModelCompanions(join(folder, 'model.gguf'))
  const header = (keys: Readonly<Record<string, number>> = {}) => ({ number: (key: string) => keys[key] })
  const own = { temperature: 0.7, topP: 0.95, topK: 40, minP: 0.05, repetitionPenalty: 1 }

  it('has defaults of its own for a model that comes alone and recommends nothing', async () => {
    const { chatTemplate, sampling } = await read()
    expect(chatTemplate).toBeUndefined()
    expect(chooseSampling(sampling, header())).toEqual(own)
  })

  it('follows what a model that comes alone recommends in its file, if it makes sense', async () => {
    const { sampling } = await read()
    const recommended = header({ 'general.sampling.temp': 0.3, 'general.sampling.top_k': 20 })
    expect(chooseSampling(sampling, recommended)).toEqual({ ...own, temperature: 0.3, topK: 20 })
    expect(chooseSampling(sampling, header({ 'general.sampling.temp': -3 }))).toEqual(own)
    expect(chooseSampling({ temperature: 1 }, recommended)).toEqual({ ...own, temperature: 1, topK: 20 })
  })

  it('reads the template and the sampling that lie beside the model', async () => {
    await writeFile(join(folder, 'chat_template.jinja'), '{{ messages }}')
    await writeFile(join(folder, 'generation_config.json'), '{"temperature":0.2,"top_k":-1,"eos_token_id":2}')
    const { chatTemplate, sampling } = await read()
    expect(chatTemplate).toBe('{{ messages }}')
    expect(sampling).toEqual({ temperature: 0.2, topK: 0 })
  })

  it.each(['{', '{"temperature":"hot"}', '[]'])('refuses a generation_config.json of %s', async (text) => {
    await writeFile(join(folder, 'generation_config.json'), text)
    await expect(read()).rejects.toThrow(/generation_config\.json cannot be used/)
  })
})
