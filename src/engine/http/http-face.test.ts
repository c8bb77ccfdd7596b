import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningEngine } from '../serve.ts'
import { json, observedLogger, openStream, post, startTestEngine } from '../test-support/test-engine.fixture.ts'
import { tinyPlainTemplate, writeTinyModel } from '../models/tiny-model.ts'

const messages = [{ role: 'user' as const, content: 'Hi' }]
const model = 'tiny'

describe('the engine over HTTP', () => {
  let folder: string
  let engine: RunningEngine
  let client: OpenAI
  const { log, finished } = observedLogger()

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-engine-'))
    const file = join(folder, 'tiny.gguf')
    await writeTinyModel(file, { chatTemplate: tinyPlainTemplate })
    engine = await startTestEngine({ modelPath: file, servedModelName: model, maxNumSeqs: 4 }, log)
    await engine.ready
    client = new OpenAI({ baseURL: `${engine.address.url}/v1`, apiKey: 'none', maxRetries: 0 })
  }, 60_000)
  afterAll(async () => {
    await engine.stop(0)
    await rm(folder, { recursive: true })
  })

  const chat = async (body: object) => {
    const response = await post(engine, '/v1/chat/completions', { model, messages, max_tokens: 8, ...body })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const contentOf = async (body: object) => {
    const asked = { model, messages, max_tokens: 12, ...body }
    const answer = await client.chat.completions.create(asked as OpenAI.ChatCompletionCreateParamsNonStreaming)
    return answer.choices.map((choice) => choice.message.content)
  }

  it('lists the model and its version', async () => {
    const models = (await (await fetch(`${engine.address.url}/v1/models`)).json()) as { data: object[] }
    const root = join(folder, 'tiny.gguf')
    expect(models.data).toEqual([expect.objectContaining({ id: model, object: 'model', root, max_model_len: 4096 })])
    expect(await (await fetch(`${engine.address.url}/version`)).json()).toEqual({ version: expect.any(String) })
  })

  it('ends a stream with [DONE], and tells no usage unless asked', async () => {
    const response = await post(engine, '/v1/chat/completions', { model, messages, stream: true, max_tokens: 2 })
    const text = await response.text()
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
    expect(text).toContain('"finish_reason":"length"')
    expect(text).not.toContain('usage')
    // A comment, which is no part of the answer: the gateway counts.
    expect(text).toMatch(/\n: \d+ prompt tokens, 2 completion tokens\n\ndata: \[DONE\]\n\n$/)
  })

  it('continues a text, streamed and whole alike', async () => {
    const asked = { model, prompt: 'the', temperature: 0, max_tokens: 4 }
    const whole = await client.completions.create(asked)
    expect(whole).toMatchObject({
      object: 'text_completion',
      choices: [{ index: 0, text: expect.stringMatching(/./), logprobs: null, finish_reason: 'length' }],
      usage: { prompt_tokens: 1, completion_tokens: 4, total_tokens: 5 },
    })
    const pieces = []
    for await (const chunk of await client.completions.create({ ...asked, stream: true }))
      pieces.push(chunk.choices[0]?.text)
    expect(pieces.join('')).toBe(whole.choices[0]?.text)
  })

  it('continues several texts at once, as text or as tokens, several times each', async () => {
    const { tokens } = (await (await post(engine, '/tokenize', { prompt: 'in the' })).json()) as { tokens: number[] }
    const sampling = { temperature: 2, top_p: 1, top_k: 0, min_p: 0, seed: 1 }
    const asked = { model, prompt: ['the', 'in the'], n: 2, max_tokens: 6, ...sampling }
    const texts = (await client.completions.create(asked)).choices.map(({ index, text }) => [index, text])
    expect(texts.map(([index]) => index)).toEqual([0, 1, 2, 3])
    expect(new Set(texts.map(([, text]) => text)).size).toBe(4)
    const alone = await client.completions.create({ ...asked, prompt: [tokens], n: 1 })
    expect(alone.usage).toMatchObject({ prompt_tokens: tokens.length, completion_tokens: 6 })
  })

  it('repeats the prompt when asked to', async () => {
    const { choices } = await client.completions.create({ model, prompt: 'in the', echo: true, max_tokens: 2 })
    expect(choices[0]?.text).toMatch(/^in the./)
  })

  it('writes several answers, streamed with their numbers', async () => {
    const asked = { model, messages, n: 3, temperature: 2, seed: 5, max_tokens: 6, stream: true } as const
    const texts: string[] = ['', '', '']
    for await (const { choices } of await client.chat.completions.create(asked)) {
      for (const { index, delta } of choices) texts[index] += delta.content ?? ''
    }
    expect(new Set(texts).size).toBe(3)
    expect(texts).toEqual(await contentOf({ n: 3, temperature: 2, seed: 5, max_tokens: 6 }))
  })

  it('stops before a stop string and says which one it was', async () => {
    const [text = ''] = await contentOf({ temperature: 0 })
    const stop = text?.slice(3, 5) ?? ''
    const { body } = await chat({ temperature: 0, stop: ['####', stop] })
    expect(body['choices']).toMatchObject([
      { message: { content: text?.slice(0, text.indexOf(stop)) }, finish_reason: 'stop', stop_reason: stop },
    ])
  })

  it('gives the same answer for the same seed', async () => {
    const asked = { temperature: 1.5, top_k: 0, top_p: 1, min_p: 0 }
    const first = await contentOf({ ...asked, seed: 1 })
    expect(await contentOf({ ...asked, seed: 1 })).toEqual(first)
    expect(await contentOf({ ...asked, seed: 2 })).not.toEqual(first)
  })

  it('takes penalties, each and all together', async () => {
    const plain = await contentOf({ temperature: 0, max_tokens: 40 })
    const penalties = { presence_penalty: 2, frequency_penalty: 2, repetition_penalty: 1.5 }
    for (const [name, value] of [...Object.entries(penalties), ['all', 0] as const]) {
      const asked = name === 'all' ? penalties : { [name]: value }
      expect(await contentOf({ temperature: 0, max_tokens: 40, ...asked })).not.toEqual(plain)
    }
  })

  it('leans towards tokens that a request favours', async () => {
    const { tokens } = (await (await post(engine, '/tokenize', { prompt: 'Q' })).json()) as { tokens: number[] }
    expect(await contentOf({ logit_bias: { [String(tokens[0])]: 100 }, max_tokens: 3 })).toEqual(['QQQ'])
    const { body } = await chat({ logit_bias: { 2: -100 } })
    expect(body).toMatchObject({ error: { code: 'unsupported_parameter', param: 'logit_bias.2' } })
  })

  it('tells probabilities that are those of the whole vocabulary, and draws by them', async () => {
    const asked = { model, messages, temperature: 1, seed: 3, max_tokens: 5, logprobs: true, top_logprobs: 20 }
    const answer = await client.chat.completions.create(asked)
    const content = answer.choices[0]?.logprobs?.content ?? []
    expect(content.map(({ token }) => token).join('')).toBe(answer.choices[0]?.message.content)
    for (const { top_logprobs: alternatives } of content) {
      const sum = alternatives.reduce((total, { logprob }) => total + Math.exp(logprob), 0)
      expect(sum).toBeGreaterThan(0.9)
      expect(sum).toBeLessThanOrEqual(1.0001)
    }
    const again = await client.chat.completions.create(asked)
    expect(again.choices[0]?.message).toEqual(answer.choices[0]?.message)
  })

  it('tells them in the older form for completions', async () => {
    const { choices } = await client.completions.create({ model, prompt: 'the', max_tokens: 3, logprobs: 2 })
    const logprobs = choices[0]?.logprobs
    expect(logprobs?.tokens?.join('')).toBe(choices[0]?.text)
    expect(logprobs?.text_offset?.[0]).toBe(0)
    expect(logprobs?.token_logprobs).toHaveLength(3)
    expect(Object.keys(logprobs?.top_logprobs?.[0] ?? {}).length).toBeGreaterThanOrEqual(2)
  })

  it('keeps to a JSON schema, whatever the model would rather write', async () => {
    const properties = { name: { type: 'string', maxLength: 4 }, sort: { enum: ['a', 'b'] }, on: { type: 'boolean' } }
    const schema = { type: 'object', properties, required: ['name'], additionalProperties: false }
    const format = { type: 'json_schema', json_schema: { name: 'thing', schema, strict: true } }
    const [text] = await contentOf({ response_format: format, max_tokens: 100 })
    expect(JSON.parse(text ?? '')).toEqual({
      name: expect.any(String),
      sort: expect.stringMatching(/^[ab]$/),
      on: expect.any(Boolean),
    })
    const [object] = await contentOf({ response_format: { type: 'json_object' }, max_tokens: 30 })
    expect(object).toMatch(/^\{/)
  })

  it('takes one of many values, whatever they are made of', async () => {
    const words = Array.from({ length: 300 }, (_, index) => `word ${index} "quoted" \\ 😀\n`)
    const values = [...words, '', 'é', '\ud83d', '\u0000', 1, 12, -1.5, 1e21, true, false, null]
    const format = { type: 'json_schema', json_schema: { name: 'one', schema: { enum: values } } }
    const answers = await contentOf({
      response_format: format,
      max_tokens: 100,
      n: 8,
      temperature: 2,
      top_k: 0,
      top_p: 1,
    })
    const found = answers.map((text) => JSON.parse(text ?? '') as unknown)
    expect(found.filter((value) => !values.some((listed) => listed === value))).toEqual([])
  })

  it('makes vectors of length 1, as numbers or packed', async () => {
    const response = await post(engine, '/v1/embeddings', { model, input: ['in', 'the'] })
    const { data, usage } = (await response.json()) as { data: { embedding: number[] }[]; usage: object }
    expect(data.map(({ embedding }) => Math.hypot(...embedding))).toEqual([expect.closeTo(1), expect.closeTo(1)])
    expect(usage).toEqual({ prompt_tokens: expect.any(Number), total_tokens: expect.any(Number) })
    // The SDK asks for base64 vectors and decodes them itself.
    const unpacked = await client.embeddings.create({ model, input: 'the' })
    expect(unpacked.data[0]?.embedding.map((value) => value.toFixed(4))).toEqual(
      data[1]?.embedding.map((value) => value.toFixed(4)),
    )
  })

  it('turns texts into tokens and back', async () => {
    const prompt = 'in the <|im_end|> é'
    const response = await post(engine, '/tokenize', { model, prompt, return_token_strs: true })
    const { tokens, token_strs: texts } = (await response.json()) as { tokens: number[]; token_strs: string[] }
    expect(texts.slice(0, 3)).toEqual(['in', ' ', 'the'])
    expect(await (await post(engine, '/detokenize', { tokens })).json()).toEqual({ prompt })
  })

  it('stops computing when the client leaves in the middle of a stream', async () => {
    const left = once(finished, 'client_gone')
    const { leave } = await openStream(engine, { model, messages, ignore_eos: true })
    leave()
    const [fields] = (await left) as [{ completionTokens: number }]
    expect(fields.completionTokens).toBeLessThan(3000)
    const metrics = await (await fetch(`${engine.address.url}/metrics`)).text()
    expect(metrics).toContain('sluice_engine_running_requests 0\n')
    expect(metrics).toMatch(/sluice_engine_requests_total\{endpoint="\/v1\/chat\/completions",status="499"\} 1\n/)
    expect(metrics).toMatch(/sluice_engine_reused_prompt_tokens_total [1-9]/)
    expect(metrics).toContain('vllm:num_requests_running{model_name="tiny"} 0\n')
  })

  it('refuses requests beyond those that may wait, and tells when to come again', async () => {
    const running = await Promise.all(
      Array.from({ length: 4 }, () => openStream(engine, { model, messages, ignore_eos: true })),
    )
    const leave = new AbortController()
    const waiting = Array.from({ length: 65 }, () =>
      fetch(`${engine.address.url}/v1/chat/completions`, {
        method: 'POST',
        headers: json,
        body: JSON.stringify({ model, messages, max_tokens: 1, stream: true }),
        signal: leave.signal,
      }).catch(() => undefined),
    )
    const refused = await Promise.race(waiting)
    expect(refused?.status).toBe(429)
    expect(refused?.headers.get('retry-after')).toBe('5')
    expect(await refused?.json()).toMatchObject({ error: { code: 'waiting_room_full', type: 'rate_limit_error' } })
    leave.abort()
    for (const stream of running) stream.leave()
    await Promise.all(waiting)
  })

  it.each([
    ['/v1/chat/completions', 400, 'unsupported_parameter', 'best_of', { messages, best_of: 2 }],
    ['/v1/chat/completions', 400, 'invalid_request', 'n', { messages, n: 0 }],
    ['/v1/chat/completions', 404, 'model_not_found', 'model', { messages, model: 'other' }],
    ['/v1/chat/completions', 400, 'context_length_exceeded', null, { messages, max_tokens: 5000 }],
    ['/v1/completions', 400, 'context_length_exceeded', null, { prompt: 'word '.repeat(5000) }],
    ['/v1/completions', 400, 'context_length_exceeded', null, { prompt: 'x'.repeat(3_000_000) }],
    ['/v1/completions', 400, 'invalid_request', 'prompt', { prompt: '' }],
    ['/v1/completions', 400, 'invalid_request', 'prompt', { prompt: [1, 99_999] }],
    ['/v1/completions', 400, 'unsupported_parameter', 'suffix', { prompt: 'x', suffix: 'y' }],
    ['/v1/embeddings', 400, 'unsupported_parameter', 'dimensions', { input: 'x', dimensions: 8 }],
    ['/v1/embeddings', 400, 'context_length_exceeded', null, { input: 'x'.repeat(5000) }],
    ['/detokenize', 400, 'invalid_request', 'tokens', { tokens: [99_999] }],
    ['/v1/audio/transcriptions', 400, 'invalid_request', null, {}],
    ['/v1/unknown', 404, 'route_not_found', null, {}],
    ['/constructor', 404, 'route_not_found', null, {}],
    ['/v1/models', 405, 'method_not_allowed', null, {}],
  ])('refuses what it cannot do: POST %s, %i %s (%s)', async (path, status, code, param, body) => {
    const response = await post(engine, path, { model, ...body })
    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', code, param },
    })
  })

  it('names parameters without effect, or refuses them if it is asked to be strict', async () => {
    const named = { role: 'user', content: 'Hi', name: 'me' }
    const body = { model, messages: [named], max_tokens: 1, made_up: 1, store: true, verbosity: 'low', seed: null }
    const answer = await post(engine, '/v1/chat/completions', body)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-sluice-ignored-parameters')).toBe('made_up, store, verbosity, messages.name')
    const strict = await post(engine, '/v1/chat/completions', body, { ...json, 'x-sluice-strict': 'true' })
    expect(strict.status).toBe(400)
    expect(await strict.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: 'made_up' } })
    const plain = await post(engine, '/v1/chat/completions', { model, messages, max_tokens: 1, store: false })
    expect(plain.headers.get('x-sluice-ignored-parameters')).toBeNull()
  })

  it('refuses a body that is not JSON, by its type and by its text', async () => {
    const broken = await post(engine, '/v1/chat/completions', '{"model":')
    expect([broken.status, await broken.json()]).toMatchObject([400, { error: { code: 'invalid_json' } }])
    const typed = await post(engine, '/v1/chat/completions', '{}', { 'content-type': 'text/plain' })
    expect([typed.status, await typed.json()]).toMatchObject([415, { error: { code: 'unsupported_media_type' } }])
  })

  it('refuses a body over 32 MiB before reading it', async () => {
    const request = httpRequest(`${engine.address.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...json, 'content-length': 32 * 1024 * 1024 + 1 },
    })
    request.on('error', () => {})
    request.flushHeaders()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(413)
    expect(response.headers.connection).toBe('close')
    request.destroy()
  })
})
