import type * as http from 'node:http'
import { describe, expect, it } from 'vitest'
import type { ServedUsage } from '../resources/usage-record.ts'
import { noneServed } from '../resources/usage-summary.ts'
import { postJson, startGateway, startUpstream, until } from './gateway.fixture.ts'
import { UsageCounter } from './usage/usage-counter.ts'

const messages = [{ role: 'user', content: 'Hi' }]
const usage = { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 }
const chunk = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }], usage: null })}\n\n`

function beginStream(response: http.ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(chunk({ role: 'assistant', content: '' }))
  for (const content of ['data:', ' {', '\ndata: {"a":1}']) response.write(chunk({ content }))
}

const answers: Record<string, (response: http.ServerResponse) => void> = {
  whole: (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ choices: [], usage }))
  },
  'whole and unreported': (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ id: 'x'.repeat(280), choices: [{ message: { content: 'word '.repeat(80) } }] }))
  },
  reported: (response) => {
    beginStream(response)
    response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`)
  },
  'in a comment': (response) => {
    beginStream(response)
    response.end(': 11 prompt tokens, 3 completion tokens\n\ndata: [DONE]\n\n')
  },
  unreported: (response) => {
    beginStream(response)
    response.end('data: [DONE]\n\n')
  },
  'without an end': beginStream,
  'broken off': (response) => {
    beginStream(response)
    setImmediate(() => response.destroy())
  },
  refused: (response) => void response.writeHead(422).end('{}'),
}

/** A gateway with a model whose server answers as the user's name says. */
async function setUp() {
  const told: ServedUsage[] = []
  const { clock, url, addPod, ...rest } = await startGateway({
    gateway: { usage: { count: (request, clientLeft) => counter.count(request, clientLeft) } },
  })
  const counter = new UsageCounter({ clock, tell: (served) => told.push(...served) })
  const upstream = await startUpstream(({ body }, response) => {
    const { user } = JSON.parse(body.toString()) as { user: string }
    answers[user]?.(response)
  })
  addPod('one', upstream.port)
  const ask = (user: string, init: { signal?: AbortSignal } = {}) =>
    postJson(
      `${url}/openai/v1/chat/completions`,
      { model: 'tiny', messages, user, stream: !user.startsWith('whole') },
      init,
    )
  const finished = (requests: number) => until(() => rest.requestLines().length === requests)
  const counted = () => {
    counter.close()
    return told.splice(0)
  }
  return { clock, ask, counted, finished, told }
}

describe('what a gateway counts', () => {
  it.each(['whole', 'reported', 'in a comment'])('is what engines report: %s', async (user) => {
    const { ask, counted } = await setUp()
    await (await ask(user)).text()
    expect(counted()).toEqual([{ model: 'tiny', ...noneServed(), requests: 1, promptTokens: 11, completionTokens: 3 }])
  })

  it('is estimated for streams that report nothing, by what prompts of others took', async () => {
    const { ask, counted } = await setUp()
    // The body has as many bytes, but for the user's name and `stream`.
    await (await ask('whole')).text()
    counted()
    await (await ask('unreported')).text()
    const [sum] = counted()
    expect(sum).toMatchObject({ requests: 1, failedRequests: 0, completionTokens: 3 })
    expect(sum?.promptTokens).toBeGreaterThanOrEqual(10)
    expect(sum?.promptTokens).toBeLessThanOrEqual(12)
    expect(sum?.estimatedTokens).toBe((sum?.promptTokens ?? 0) + 3)
  })

  it('is estimated for whole answers that report nothing, too', async () => {
    const { ask, counted } = await setUp()
    await (await ask('whole')).text()
    counted()
    await (await ask('whole and unreported')).text()
    const [sum] = counted()
    expect(sum?.promptTokens).toBeGreaterThanOrEqual(10)
    expect(sum?.completionTokens).toBeGreaterThanOrEqual(90)
    expect(sum?.completionTokens).toBeLessThanOrEqual(110)
    expect(sum?.estimatedTokens).toBe((sum?.promptTokens ?? 0) + (sum?.completionTokens ?? 0))
  })

  it('has streams that their clients break off, with what was streamed', async () => {
    const { ask, counted, finished } = await setUp()
    const leave = new AbortController()
    const response = await ask('without an end', { signal: leave.signal })
    const reader = response.body?.getReader()
    let text = ''
    while (!text.includes('a\\":1')) text += Buffer.from((await reader?.read())?.value ?? []).toString()
    leave.abort()
    await finished(1)
    const [sum] = counted()
    expect(sum).toMatchObject({ requests: 1, abandonedRequests: 1, failedRequests: 0, completionTokens: 3 })
    expect(sum?.promptTokens).toBeGreaterThan(0)
  })

  it('has what failed as failed: refused by the engine, or broken off', async () => {
    const { ask, counted } = await setUp()
    expect((await ask('refused')).status).toBe(422)
    expect(counted()).toEqual([{ model: 'tiny', ...noneServed(), requests: 1, failedRequests: 1 }])
    expect(await (await ask('broken off')).text()).toContain('upstream_broke_off')
    expect(counted()).toMatchObject([{ requests: 1, failedRequests: 1, abandonedRequests: 0, completionTokens: 3 }])
  })

  it('is told a second after the first request that was not told, and not at all while nobody asks', async () => {
    const { clock, ask, told } = await setUp()
    const before = clock.pendingTimers
    for (let count = 0; count < 3; count++) await (await ask('whole')).text()
    expect([clock.pendingTimers, told]).toEqual([before + 1, []])
    await clock.advance(1_000)
    expect(told).toMatchObject([{ requests: 3, promptTokens: 33 }])
    expect(clock.pendingTimers).toBe(before)
  })
})
