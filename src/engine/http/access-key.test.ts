import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessKeyOf } from './access-key.ts'
import type { RunningEngine } from '../serve.ts'
import { json, post, startTestEngine } from '../test-support/test-engine.fixture.ts'
import { tinyPlainTemplate, writeTinyModel } from '../models/tiny-model.ts'

describe('the key of an engine', () => {
  it('is the flag, else what other engines take from the environment', () => {
    expect(accessKeyOf('flag', { VLLM_API_KEY: 'a', LLAMA_API_KEY: 'b' })).toBe('flag')
    expect(accessKeyOf(undefined, { VLLM_API_KEY: 'a', LLAMA_API_KEY: 'b' })).toBe('a')
    expect(accessKeyOf('', { VLLM_API_KEY: '', LLAMA_API_KEY: 'b' })).toBe('b')
    expect(accessKeyOf(undefined, {})).toBeUndefined()
  })
})

describe('an engine that has a key', () => {
  let folder: string
  let engine: RunningEngine

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-engine-'))
    const modelPath = join(folder, 'tiny.gguf')
    await writeTinyModel(modelPath, { chatTemplate: tinyPlainTemplate })
    engine = await startTestEngine({ modelPath, servedModelName: 'tiny', apiKey: 'of-this-start' })
    await engine.ready
  }, 60_000)
  afterAll(async () => {
    await engine.stop(0)
    await rm(folder, { recursive: true })
  })

  const ask = (headers: Record<string, string>) =>
    post(engine, '/v1/completions', { model: 'tiny', prompt: 'the', max_tokens: 1 }, { ...json, ...headers })

  it.each([
    ['no key', {}],
    ['another key', { authorization: 'Bearer of-another-start' }],
    ['a beginning of it', { authorization: 'Bearer of-this' }],
    ['the key of nobody', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: 'Basic of-this-start' }],
  ])('refuses whoever comes to its address with %s', async (_case, headers) => {
    const response = await ask(headers)
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({
      error: {
        message: expect.stringContaining('key'),
        type: 'invalid_request_error',
        code: 'engine_key_required',
        param: null,
      },
    })
  })

  it('answers who has it', async () => {
    expect((await ask({ authorization: 'Bearer of-this-start' })).status).toBe(200)
  })

  it('is open for probes and scrapers, and for nothing else', async () => {
    const statusOf = async (path: string) => (await fetch(engine.address.url + path)).status
    for (const path of ['/health', '/healthz', '/readyz', '/version', '/metrics'])
      expect(await statusOf(path)).toBe(200)
    for (const path of ['/v1/models', '/tokenize', '/nowhere']) expect(await statusOf(path)).not.toBe(200)
    expect(await statusOf('/v1/models')).toBe(401)
    expect(await statusOf('/tokenize')).toBe(401)
  })
})
