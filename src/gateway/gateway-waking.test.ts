import type * as http from 'node:http'
import { describe, expect, it } from 'vitest'
import { fakeModel } from '../traffic/cluster-view.fixture.ts'
import { postJson, startGateway, startUpstream, until } from './gateway.fixture.ts'

const chat = '/openai/v1/chat/completions'
const ask = { model: 'tiny', messages: [{ role: 'user', content: 'Hi' }] }

const answerOk = (_request: unknown, response: http.ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"chat.completion"}')

describe('a sleeping model', () => {
  it('is woken once by 1,000 simultaneous requests, and answers all of them', async () => {
    const upstream = await startUpstream(answerOk)
    const { url, pool, addPod } = await startGateway()
    const wakes: string[] = []
    pool.onFirstWaiter((model) => wakes.push(model))
    const answers = Array.from({ length: 1_000 }, async () => {
      const response = await postJson(url + chat, ask)
      await response.text()
      return response.status
    })
    await until(() => pool.sample('tiny')?.waiting === 1_000)
    // Later a connection may fail on a busy machine: that request waits again, and says so again.
    expect(wakes).toEqual(['tiny'])
    addPod('one', upstream.port)
    const statuses = await Promise.all(answers)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1_000)
    await until(() => pool.sample('tiny')?.active === 0)
  })

  it.each([false, true])('is not woken by what its server could not read (streamed: %s)', async (streamed) => {
    const { url, pool } = await startGateway()
    const wakes: string[] = []
    pool.onFirstWaiter((model) => wakes.push(model))
    const response = await postJson(url + chat, `{"model":"tiny","messages":[1,],"stream":${streamed}}`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_json' } })
    expect(wakes).toEqual([])
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 0 })
  })

  it('keeps a streamed request informed while it wakes, then streams the answer', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('data: {"choices":[]}\n\ndata: [DONE]\n\n')
    })
    const { url, clock, models, pool, addPod, requestLines } = await startGateway()
    const asking = postJson(url + chat, { ...ask, stream: true })
    await until(() => pool.sample('tiny')?.waiting === 1)
    models.put(fakeModel('tiny', 'Waking', 'loading\nweights'))
    await clock.advance(3_500)
    const response = await asking
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('x-request-id')).toBeTruthy()
    addPod('one', upstream.port)
    expect(await response.text()).toBe(
      ': waking tiny: Waking, loading weights, 2 s\n\n: waking tiny: Waking, loading weights, 3 s\n\n' +
        'data: {"choices":[]}\n\ndata: [DONE]\n\n',
    )
    await until(() => requestLines().length > 0)
    expect(requestLines()[0]).toMatchObject({ status: 200, waitMs: 3_500, endpoint: 'one' })
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 0 })
    expect(clock.pendingTimers).toBe(0)
  })

  it.each([
    ['as it is', '{"error":{"message":"too long"}}', '{"error":{"message":"too long"}}'],
    ['made into one', 'oops', '"code":"upstream_failed"'],
  ])('tells an error of the woken model as an event, %s', async (_case, body, expected) => {
    const upstream = await startUpstream((_request, response) => void response.writeHead(400).end(body))
    const { url, clock, pool, addPod } = await startGateway()
    const asking = postJson(url + chat, { ...ask, stream: true })
    await until(() => pool.sample('tiny')?.waiting === 1)
    await clock.advance(2_000)
    const response = await asking
    addPod('one', upstream.port)
    const text = await response.text()
    expect(text).toContain(expected)
    expect(text).toMatch(/\n\ndata: \{"error":\{.*\}\}\n\ndata: \[DONE\]\n\n$/)
  })

  it('tells an informed client as an event that the model cannot start', async () => {
    const { url, clock, models, pool, requestLines } = await startGateway()
    const asking = postJson(url + chat, { ...ask, stream: true })
    await until(() => pool.sample('tiny')?.waiting === 1)
    await clock.advance(2_000)
    const response = await asking
    models.put(fakeModel('tiny', 'Failed', 'no card is free'))
    expect(await response.text()).toMatch(
      /data: \{"error":\{"message":"The model tiny cannot start: no card is free".*\n\ndata: \[DONE\]\n\n$/,
    )
    await until(() => requestLines().length > 0)
    expect(requestLines()[0]).toMatchObject({ status: 503, errorCode: 'model_unavailable' })
  })

  it('forgets a client that leaves while it waits', async () => {
    const { url, pool, requestLines } = await startGateway()
    const client = new AbortController()
    const asking = postJson(url + chat, ask, { signal: client.signal }).catch((error: unknown) => String(error))
    await until(() => pool.sample('tiny')?.waiting === 1)
    client.abort()
    expect(await asking).toContain('Abort')
    await until(() => pool.sample('tiny')?.waiting === 0 && requestLines().length === 1)
    expect(requestLines()[0]).toMatchObject({ status: 499, errorCode: 'client_gone' })
  })
})
