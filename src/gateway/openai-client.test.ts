import OpenAI, { APIError, toFile } from 'openai'
import { describe, expect, it } from 'vitest'
import { fakeModel } from '../traffic/cluster-view.fixture.ts'
import { type UpstreamAnswer, startGateway, startUpstream, until } from './gateway.fixture.ts'

const chunk = (content: string) =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ delta: { content } }] })}\n\n`

const engine: UpstreamAnswer = ({ url, body }, response) => {
  if (url.endsWith('/chat/completions') && body.includes('"stream":true')) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const word of ['Par', 'is']) response.write(chunk(word))
    response.end('data: [DONE]\n\n')
    return
  }
  const answers: Record<string, unknown> = {
    '/v1/chat/completions': { choices: [{ message: { role: 'assistant', content: 'Paris' } }] },
    '/v1/completions': { choices: [{ text: 'Paris' }] },
    '/v1/embeddings': { data: [{ embedding: [0.5] }] },
    '/v1/audio/transcriptions': { text: 'Paris' },
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers[url]))
}

async function setUp(awake = true) {
  const upstream = await startUpstream(engine)
  const gateway = await startGateway()
  if (awake) gateway.addPod('one', upstream.port)
  const client = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: 'dummy', maxRetries: 0 })
  return { ...gateway, upstream, client }
}

const question = { model: 'tiny', messages: [{ role: 'user' as const, content: 'The capital of France?' }] }

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

  it('aborts', async () => {
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
