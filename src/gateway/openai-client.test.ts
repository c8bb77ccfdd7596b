import OpenAI, { APIError, toFile } from 'openai'
import { describe, expect, it } from 'vitest'
import { fakeModel } from '../traffic/cluster-view.fixture.ts'
import { type UpstreamAnswer, startGateway, startUpstream, until } from './gateway.fixture.ts'

const chunk = (content: string) =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ delta: { content } }] })}\n\n`

const textChunk = (text: string) => `data: ${JSON.stringify({ object: 'text_completion', choices: [{ text }] })}\n\n`
const audioChunk = (delta: string) => `data: ${JSON.stringify({ type: 'transcript.text.delta', delta })}\n\n`
const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 }

/** Two words; a question about eternity gets a third that never comes. */
const engine: UpstreamAnswer = ({ url, body }, response) => {
  if (body.includes('"stream":true') || body.includes('name="stream"')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const event = url.endsWith('/chat/completions') ? chunk : url.endsWith('/completions') ? textChunk : audioChunk
    for (const word of ['Par', 'is']) response.write(event(word))
    if (body.includes('eternity')) return
    if (body.includes('include_usage')) response.write(`data: ${JSON.stringify({ choices: [], usage })}\n\n`)
    response.end('data: [DONE]\n\n')
    return
  }
  if (body.includes('eternity')) return
  if (url === '/v1/audio/speech') {
    response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(speech)
    return
  }
  const answers: Record<string, unknown> = {
    '/v1/chat/completions': { choices: [{ message: { role: 'assistant', content: 'Paris' } }], usage },
    '/v1/completions': { choices: [{ text: 'Paris' }], usage },
    '/v1/embeddings': { data: [{ embedding: [0.5] }], usage: { prompt_tokens: 1, total_tokens: 1 } },
    '/v1/audio/transcriptions': { text: 'Paris' },
    '/v1/audio/translations': { text: 'Paris' },
    '/v1/images/generations': { created: 1, data: [{ b64_json: 'eA==' }] },
    '/v1/images/edits': { created: 1, data: [{ b64_json: 'eQ==' }] },
    '/v1/rerank': { results: [{ index: 1, relevance_score: 0.9 }] },
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers[url]))
}

const speech = Buffer.from([0xff, 0xfb, 0x90, 0, 0x80])
const question = { model: 'tiny', messages: [{ role: 'user' as const, content: 'The capital of France?' }] }
const endless = { model: 'tiny', messages: [{ role: 'user' as const, content: 'eternity' }] }

async function setUp(awake = true) {
  const upstream = await startUpstream(engine)
  const gateway = await startGateway()
  if (awake) gateway.addPod('one', upstream.port)
  const client = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: 'dummy', maxRetries: 0 })
  return { ...gateway, upstream, client }
}

describe("OpenAI's own client", () => {
  it('uses every endpoint', async () => {
    const { client } = await setUp()
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['tiny'])
    expect((await client.models.retrieve('tiny')).owned_by).toBe('somebody')
    expect((await client.chat.completions.create(question)).choices[0]?.message.content).toBe('Paris')
    expect((await client.completions.create({ model: 'tiny', prompt: 'x' })).choices[0]?.text).toBe('Paris')
    const embeddings = await client.embeddings.create({ model: 'tiny', input: 'x', encoding_format: 'float' })
    expect(embeddings.data[0]?.embedding).toEqual([0.5])
    const file = await toFile(Buffer.from('RIFF'), 'a.wav')
    expect((await client.audio.transcriptions.create({ model: 'tiny', file })).text).toBe('Paris')
    expect((await client.audio.translations.create({ model: 'tiny', file })).text).toBe('Paris')
    const spoken = await client.audio.speech.create({ model: 'tiny', voice: 'alloy', input: 'x' })
    expect(spoken.headers.get('content-type')).toBe('audio/mpeg')
    expect(Buffer.from(await spoken.arrayBuffer())).toEqual(speech)
    expect((await client.images.generate({ model: 'tiny', prompt: 'x' })).data).toEqual([{ b64_json: 'eA==' }])
    const image = await toFile(Buffer.from('PNG'), 'a.png', { type: 'image/png' })
    expect((await client.images.edit({ model: 'tiny', prompt: 'x', image })).data).toEqual([{ b64_json: 'eQ==' }])
    expect(await client.post('/rerank', { body: { model: 'tiny', query: 'x', documents: ['a', 'b'] } })).toMatchObject({
      results: [{ index: 1 }],
    })
  })

  it('streams from every endpoint that can', async () => {
    const { client } = await setUp()
    const words: string[] = []
    for await (const { choices } of await client.chat.completions.create({ ...question, stream: true })) {
      words.push(choices[0]?.delta.content ?? '')
    }
    for await (const { choices } of await client.completions.create({ model: 'tiny', prompt: 'x', stream: true })) {
      words.push(choices[0]?.text ?? '')
    }
    const file = await toFile(Buffer.from('RIFF'), 'a.wav')
    for await (const event of await client.audio.transcriptions.create({ model: 'tiny', file, stream: true })) {
      if (event.type === 'transcript.text.delta') words.push(event.delta)
    }
    expect(words).toEqual(['Par', 'is', 'Par', 'is', 'Par', 'is'])
  })

  it('leaves behind how many tokens it used, streamed or not', async () => {
    const { client, url, requestLines } = await setUp()
    await client.chat.completions.create(question)
    await client.embeddings.create({ model: 'tiny', input: 'x', encoding_format: 'float' })
    const options = { stream: true as const, stream_options: { include_usage: true } }
    for await (const _ of await client.chat.completions.create({ ...question, ...options }));
    for await (const _ of await client.chat.completions.create({ ...question, stream: true }));
    await until(() => requestLines().length === 4)
    expect(requestLines().map(({ promptTokens, completionTokens }) => [promptTokens, completionTokens])).toEqual([
      [7, 2],
      [1, 0],
      [7, 2],
      [undefined, undefined],
    ])
    const metrics = await (await fetch(`${url}/metrics`)).text()
    expect(metrics).toContain('sluice_gateway_tokens_total{model="tiny",kind="prompt"} 15')
    expect(metrics).toContain('sluice_gateway_tokens_total{model="tiny",kind="completion"} 4')
  })

  it('reads a streamed answer of a model that was asleep', async () => {
    const { client, clock, pool, addPod, upstream } = await setUp(false)
    const asking = client.chat.completions.create({ ...question, stream: true })
    await until(() => pool.sample('tiny')?.waiting === 1)
    await clock.advance(5_000)
    const stream = await asking
    addPod('one', upstream.port)
    let text = ''
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
    expect(text).toBe('Paris')
  })

  it('understands errors, plain and in the middle of a stream', async () => {
    const { client, clock, pool, models } = await setUp(false)
    const missing = await client.chat.completions
      .create({ ...question, model: 'nope' })
      .catch((error: unknown) => error)
    expect(missing).toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
      type: 'invalid_request_error',
    })
    const asking = client.chat.completions.create({ ...question, stream: true })
    await until(() => pool.sample('tiny')?.waiting === 1)
    await clock.advance(2_000)
    const stream = await asking
    models.put(fakeModel('tiny', 'Failed', 'no card is free'))
    const reading = (async () => {
      for await (const _ of stream) throw new Error('nothing should be read')
    })()
    const error = await reading.catch((error: unknown) => error)
    expect(error).toBeInstanceOf(APIError)
    expect(error).toMatchObject({ code: 'model_unavailable' })
  })

  it('aborts whatever runs, streamed or not', async () => {
    const { client, pool, requestLines } = await setUp()
    const file = await toFile(Buffer.from('eternity'), 'a.wav')
    const controller = new AbortController()
    const { signal } = controller
    const running = [
      client.chat.completions.create(endless, { signal }),
      client.completions.create({ model: 'tiny', prompt: 'eternity' }, { signal }),
      client.embeddings.create({ model: 'tiny', input: 'eternity' }, { signal }),
      client.audio.transcriptions.create({ model: 'tiny', file }, { signal }),
    ].map((answer) =>
      answer.then(
        () => 'answered',
        (error: unknown) => String(error),
      ),
    )
    const stream = await client.chat.completions.create({ ...endless, stream: true })
    for await (const _ of stream) break
    await until(() => pool.sample('tiny')?.active === 4)
    controller.abort()
    expect(await Promise.all(running)).toEqual(Array(4).fill('Error: Request was aborted.'))
    await until(() => pool.sample('tiny')?.active === 0 && requestLines().length === 5)
    expect(requestLines().map(({ errorCode }) => errorCode)).toEqual(Array(5).fill('client_gone'))
  })

  it('aborts while it waits', async () => {
    const { client, pool } = await setUp(false)
    const controller = new AbortController()
    const asking = client.chat.completions
      .create(question, { signal: controller.signal })
      .catch((error: unknown) => error)
    await until(() => pool.sample('tiny')?.waiting === 1)
    controller.abort()
    expect(await asking).toMatchObject({ message: 'Request was aborted.' })
    await until(() => pool.sample('tiny')?.waiting === 0)
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 0 })
  })
})
