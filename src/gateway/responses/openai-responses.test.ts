import OpenAI, { APIError } from 'openai'
import type { ResponseCreateParamsNonStreaming, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import { fakeModel } from '../../traffic/cluster-view.fixture.ts'
import { postJson, startGateway, startUpstream, until, type UpstreamAnswer } from '../gateway.fixture.ts'

const usage = {
  prompt_tokens: 7,
  completion_tokens: 5,
  total_tokens: 12,
  prompt_tokens_details: { cached_tokens: 3 },
  completion_tokens_details: { reasoning_tokens: 2 },
}
const weather = {
  type: 'function' as const,
  name: 'weather',
  description: 'The weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: true,
}
type Choice = Record<string, unknown>

/** Answers with these chunks, or with this message. */
function engineSaying(deltas: readonly Choice[], finishReason = 'stop'): UpstreamAnswer {
  return ({ body }, response) => {
    if (body.includes('"stream":true')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const delta of deltas) response.write(event({ choices: [{ index: 0, delta, finish_reason: null }] }))
      response.write(event({ choices: [{ index: 0, delta: {}, finish_reason: finishReason }] }))
      response.write(event({ choices: [], usage }))
      response.end('data: [DONE]\n\n')
      return
    }
    const message = Object.assign({ role: 'assistant', content: null }, ...deltas) as unknown
    const answer = { choices: [{ index: 0, message, finish_reason: finishReason }], usage }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }
}

function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\r\n\r\n`
}

const paris: UpstreamAnswer = engineSaying([{ role: 'assistant', content: 'Paris' }])

async function setUp(engine: UpstreamAnswer = paris, awake = true, model = fakeModel('tiny')) {
  const upstream = await startUpstream(engine)
  const gateway = await startGateway({ models: [model] })
  if (awake) gateway.addPod('one', upstream.port)
  const client = new OpenAI({ baseURL: `${gateway.url}/openai/v1`, apiKey: 'dummy', maxRetries: 0 })
  const sent = () => upstream.received.map(({ url, body }) => ({ url, body: JSON.parse(body.toString()) as Choice }))
  return { ...gateway, upstream, client, sent }
}

async function eventsOf(client: OpenAI, request: Omit<ResponseCreateParamsNonStreaming, 'stream'>) {
  const events: ResponseStreamEvent[] = []
  for await (const one of await client.responses.create({ ...request, stream: true })) events.push(one)
  return events
}

describe("OpenAI's client of responses, with an engine that has chat completions only", () => {
  it('gets a response with text and usage', async () => {
    const { client, sent, requestLines } = await setUp()
    const response = await client.responses.create({
      model: 'tiny',
      instructions: 'Be brief.',
      input: 'The capital of France?',
      max_output_tokens: 20,
      temperature: 0.5,
      metadata: { who: 'me' },
    })
    expect(response.output_text).toBe('Paris')
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      model: 'tiny',
      instructions: 'Be brief.',
      max_output_tokens: 20,
      metadata: { who: 'me' },
      store: false,
      error: null,
      usage: {
        input_tokens: 7,
        input_tokens_details: { cached_tokens: 3 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 2 },
        total_tokens: 12,
      },
    })
    expect(response.id).toMatch(/^resp_[0-9a-f]{48}$/)
    expect(sent()).toEqual([
      {
        url: '/v1/chat/completions',
        body: {
          model: 'tiny',
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'user', content: 'The capital of France?' },
          ],
          max_tokens: 20,
          temperature: 0.5,
        },
      },
    ])
    await until(() => requestLines().length === 1)
    expect(requestLines()[0]).toMatchObject({ route: 'responses', status: 200, promptTokens: 7, completionTokens: 5 })
  })

  it('streams every event that a client waits for, numbered', async () => {
    const { client } = await setUp(
      engineSaying([{ role: 'assistant', content: '' }, { content: 'Par' }, { content: 'is' }]),
    )
    const events = await eventsOf(client, { model: 'tiny', input: 'The capital?' })
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    expect(events.map((one) => one.sequence_number)).toEqual(events.map((_, index) => index))
    const last = events.at(-1)
    if (last?.type !== 'response.completed') throw new Error('not completed')
    expect(last.response.output).toMatchObject([
      { type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'Paris' }] },
    ])
    expect(last.response.usage?.total_tokens).toBe(12)
  })

  it('accumulates a stream, with reasoning and two calls whose parts come in turns', async () => {
    const call = (index: number, fields: Choice) => ({ tool_calls: [{ index, ...fields }] })
    const engine = engineSaying(
      [
        { reasoning_content: 'Two ' },
        { reasoning_content: 'cities.' },
        { content: 'I look.' },
        call(0, { id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":' } }),
        call(1, { id: 'b', type: 'function', function: { name: 'weather', arguments: '' } }),
        call(0, { function: { arguments: '"Rome"}' } }),
        call(1, { function: { arguments: '{"city":"Oslo"}' } }),
      ],
      'tool_calls',
    )
    const { client, sent } = await setUp(engine)
    const stream = client.responses.stream({ model: 'tiny', input: 'Rome or Oslo?', tools: [weather] })
    const deltas: string[] = []
    stream.on('response.function_call_arguments.delta', ({ snapshot }) => deltas.push(snapshot))
    const response = await stream.finalResponse()
    expect(deltas).toEqual(['{"city":', '{"city":"Rome"}', '{"city":"Oslo"}'])
    expect(response.output).toMatchObject([
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Two cities.' }] },
      { type: 'message', content: [{ text: 'I look.' }] },
      { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{"city":"Rome"}', status: 'completed' },
      { type: 'function_call', call_id: 'b', name: 'weather', arguments: '{"city":"Oslo"}', status: 'completed' },
    ])
    const { type, ...described } = weather
    expect(sent()[0]?.body['tools']).toEqual([{ type, function: described }])
  })

  it('sends a conversation back, with calls, their results, reasoning and a picture', async () => {
    const { client, sent } = await setUp()
    await client.responses.create({
      model: 'tiny',
      instructions: 'Be brief.',
      input: [
        { role: 'developer', content: 'Say please.' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Where is this?' },
            { type: 'input_image', image_url: 'data:image/png;base64,eA==', detail: 'low' },
          ],
        },
        { id: 'rs_1', type: 'reasoning', summary: [] },
        {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'I look.', annotations: [] }],
        },
        { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{}' },
        { type: 'function_call', call_id: 'b', name: 'weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'rain' },
        { type: 'function_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'sun' }] },
      ],
      tools: [weather],
      tool_choice: { type: 'function', name: 'weather' },
      reasoning: { effort: 'low' },
      text: { format: { type: 'json_schema', name: 'city', schema: { type: 'object' }, strict: true } },
    })
    const call = (id: string) => ({ id, type: 'function', function: { name: 'weather', arguments: '{}' } })
    expect(sent()[0]?.body).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.\n\nSay please.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Where is this?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,eA==', detail: 'low' } },
          ],
        },
        { role: 'assistant', content: 'I look.', tool_calls: [call('a'), call('b')] },
        { role: 'tool', tool_call_id: 'a', content: 'rain' },
        { role: 'tool', tool_call_id: 'b', content: 'sun' },
      ],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      reasoning_effort: 'low',
      response_format: { type: 'json_schema', json_schema: { name: 'city', schema: { type: 'object' }, strict: true } },
    })
  })

  it('calls an answer incomplete that was cut off', async () => {
    const { client } = await setUp(engineSaying([{ content: 'Par' }], 'length'))
    const whole = await client.responses.create({ model: 'tiny', input: 'x', max_output_tokens: 1 })
    expect(whole).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    const events = await eventsOf(client, { model: 'tiny', input: 'x', max_output_tokens: 1 })
    expect(events.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { output: [{ status: 'incomplete' }] },
    })
  })

  it('is refused what needs a memory or tools of our own, and told what to do', async () => {
    const { client, upstream } = await setUp(paris, false)
    const attempts: ReadonlyArray<[object, string, RegExp]> = [
      [{ previous_response_id: 'resp_1' }, 'previous_response_id', /send the earlier items in input/],
      [{ conversation: 'conv_1' }, 'conversation', /send the earlier items in input/],
      [{ background: true }, 'background', /set it to false/],
      [{ prompt: { id: 'p' } }, 'prompt', /send instructions and input/],
      [{ tools: [{ type: 'web_search' }] }, 'tools[0]', /offer a tool of the type "function"/],
      [{ input: [{ type: 'item_reference', id: 'x' }] }, 'input[0]', /send the items themselves/],
      [{ input: [{ type: 'computer_call' }] }, 'input[0]', /are not known/],
      [
        { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
        'input[0].content[0]',
        /input_text/,
      ],
      [{ input: 7 }, 'input', /must be a string or a list/],
      [{ input: [] }, 'input', /has no items/],
      [{ input: [{ role: 'judge', content: '' }] }, 'input[0].role', /must be user/],
      [{ text: { format: { type: 'json_schema' } } }, 'text.format.schema', /JSON schema/],
    ]
    for (const [fields, param, message] of attempts) {
      const body = { model: 'tiny', input: 'x', ...fields }
      const error: unknown = await client.post('/responses', { body }).catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(APIError)
      expect(error).toMatchObject({ status: 400, param, message: expect.stringMatching(message) as unknown })
    }
    expect(upstream.received).toEqual([])
  })

  it('names the parameters without effect, or refuses them if it is asked to be strict', async () => {
    const { url } = await setUp(({ body }, response) => {
      response.setHeader('x-sluice-ignored-parameters', 'reasoning_effort')
      paris({ body } as never, response)
    })
    const body = { model: 'tiny', input: 'x', store: true, user: 'me', 'no\r\nsuch': 1, truncation: 'disabled' }
    const answer = await postJson(`${url}/v1/responses`, body)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-sluice-ignored-parameters')).toBe('store, user, no??such, reasoning_effort')
    const strict = await postJson(`${url}/v1/responses`, body, { headers: { 'x-sluice-strict': 'true' } })
    expect(strict.status).toBe(400)
    expect(await strict.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: 'store' } })
  })

  it('waits for a model that wakes, with comments meanwhile', async () => {
    const { client, clock, pool, addPod, upstream } = await setUp(paris, false)
    const asking = eventsOf(client, { model: 'tiny', input: 'x' })
    await until(() => pool.sample('tiny')?.waiting === 1)
    await clock.advance(5_000)
    addPod('one', upstream.port)
    expect((await asking).at(-1)?.type).toBe('response.completed')
  })

  it('hears in a stream that has begun why the model does not wake', async () => {
    const { client, clock, pool, models } = await setUp(paris, false)
    const asking = eventsOf(client, { model: 'tiny', input: 'x' }).catch((error: unknown) => error)
    await until(() => pool.sample('tiny')?.waiting === 1)
    await clock.advance(2_000)
    models.put(fakeModel('tiny', 'Failed', 'no card is free'))
    expect(await asking).toMatchObject({ code: 'model_unavailable' })
  })

  it('sees a stream fail that breaks off or says so, and an answer that is none', async () => {
    const broken: UpstreamAnswer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(event({ choices: [{ delta: { content: 'Par' } }] }), () => response.destroy())
    }
    const failing: UpstreamAnswer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(event({ error: { message: 'no memory', code: 'oom' } }))
    }
    const endless: UpstreamAnswer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`data: ${'x'.repeat(5_000_000)}`)
    }
    for (const [engine, code] of [
      [broken, 'upstream_broke_off'],
      [failing, 'oom'],
      [endless, 'upstream_failed'],
    ] as const) {
      const { client } = await setUp(engine)
      const events = await eventsOf(client, { model: 'tiny', input: 'x' })
      expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed', error: { code } } })
    }
    const { client } = await setUp((_, response) => response.end('hello'))
    await expect(client.responses.create({ model: 'tiny', input: 'x' })).rejects.toMatchObject({ status: 502 })
  })

  it("gets the engine's own refusals, with their status", async () => {
    const { client } = await setUp((_, response) => {
      const error = { message: 'too long', type: 'invalid_request_error', code: 'context_length_exceeded', param: null }
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    })
    await expect(client.responses.create({ model: 'tiny', input: 'x' })).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
    })
  })

  it('sends large pictures and texts on unchanged, and gets its instructions back', async () => {
    const { client, sent } = await setUp()
    const picture = `data:image/png;base64,${'QUJD'.repeat(500_000)}`
    const instructions = 'Mind "quotes", \\ and\nlines. é '.repeat(4_000)
    const content = [
      { type: 'input_text' as const, text: 'What is this?' },
      { type: 'input_image' as const, image_url: picture, detail: 'auto' as const },
    ]
    const response = await client.responses.create({ model: 'tiny', instructions, input: [{ role: 'user', content }] })
    expect(response.instructions === instructions).toBe(true)
    const messages = sent()[0]?.body['messages'] as Array<{ content: unknown }>
    expect(messages[0]?.content === instructions).toBe(true)
    const parts = messages[1]?.content as Array<{ image_url?: { url: string } }>
    expect(parts[1]?.image_url?.url === picture).toBe(true)
  })

  it('is refused a body that is large without its texts', async () => {
    const { url } = await setUp()
    const body = {
      model: 'tiny',
      input: Array.from({ length: 9_000 }, () => ({ role: 'user', content: 'x'.repeat(120) })),
    }
    const answer = await postJson(`${url}/v1/responses`, body)
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('send fewer items or tools')
    expect((await postJson(`${url}/v1/responses`, `{"model":"tiny","input":"${'x'.repeat(70_000)}`)).status).toBe(400)
  })

  it('reaches an engine that has responses itself unchanged', async () => {
    const model = fakeModel('tiny')
    const own = { ...model, status: { ...model.status, interfaces: ['responses'] } }
    const { url, upstream } = await setUp((_, response) => response.end('{"object":"response"}'), true, own)
    const answer = await postJson(`${url}/v1/responses`, { model: 'tiny', previous_response_id: 'resp_1' })
    expect(await answer.text()).toBe('{"object":"response"}')
    expect(upstream.received.map(({ url }) => url)).toEqual(['/v1/responses'])
  })
})
