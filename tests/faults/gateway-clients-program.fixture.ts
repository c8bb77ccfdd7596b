// The process of `GatewayClients`: keeps streams open, sends one request after the other, and reports how long
// everything took.
import { setTimeout as pause } from 'node:timers/promises'
import { EventStream } from '../support/event-stream.ts'
import {
  type ClientOrder,
  type ClientReport,
  type TimeWindow,
  type What,
  type WindowFigures,
  lateMs,
} from './gateway-clients.fixture.ts'

const order = JSON.parse(process.argv[2] ?? '') as ClientOrder
/**
 * The pause of a client between an answer and its next question. It sets the rate of requests; nothing is waited for.
 */
const pauseMs = 20
const endless = 100_000

/** Durations, each with the time at which it began. */
class Taken {
  readonly #at: number[] = []
  readonly #ms: number[] = []

  add(at: number, ms: number): void {
    this.#at.push(at)
    this.#ms.push(ms)
  }

  within({ from, to }: TimeWindow): WindowFigures {
    const sorted = this.#ms
      .filter((_, index) => (this.#at[index] ?? 0) >= from && (this.#at[index] ?? 0) < to)
      .toSorted((one, other) => one - other)
    const count = sorted.length
    // Nothing began in this window because the request before it took all the time.
    if (count === 0) return { count, lateShare: 1, p99: to - from, worst: to - from }
    const late = sorted.filter((ms) => ms > lateMs).length
    return { count, lateShare: late / count, p99: sorted[Math.ceil(count * 0.99) - 1] ?? 0, worst: sorted.at(-1) ?? 0 }
  }
}

const taken: Record<What, Taken> = {
  piece: new Taken(),
  'direct piece': new Taken(),
  models: new Taken(),
  chat: new Taken(),
}
const failures: string[] = []
const gateway = new URL(order.gateway)
const throughGateway = { host: gateway.hostname, port: gateway.port }
const directEvery = Math.ceil(order.streams / order.directStreams)
// Both kinds of streams are mixed, so that they are sent to at the same times.
const streams = Array.from({ length: order.streams }, (_, at) => [
  listen(throughGateway, 'piece'),
  ...(at % directEvery === 0 ? [listen(order.engine, 'direct piece')] : []),
]).flat()
await Promise.all(streams.map(({ begun }) => begun))
process.send?.('begun')

process.on('message', (windows: TimeWindow[]) => {
  const last = windows.at(-1)?.from ?? 0
  const report: ClientReport = {
    windows: windows.map((window) => ({
      piece: taken['piece'].within(window),
      'direct piece': taken['direct piece'].within(window),
      models: taken['models'].within(window),
      chat: taken['chat'].within(window),
    })),
    lost: streams.filter(({ isOver, lastSentAt }) => isOver || lastSentAt < last).length,
    failures,
  }
  process.send?.(report)
})
// The process that started this one has gone.
process.on('disconnect', () => process.exit())

const chatBody = JSON.stringify({ model: order.model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2 })
const chat = { method: 'POST', headers: { 'content-type': 'application/json' }, body: chatBody }
await Promise.all([
  ask('models', `${order.gateway}/openai/v1/models`),
  ask('chat', `${order.gateway}/openai/v1/chat/completions`, chat),
])

function listen(place: { readonly host: string; readonly port: number | string }, what: What) {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const state = { begun, lastSentAt: 0, isOver: false }
  const stream = new EventStream(place, order.model, endless, (ms) => {
    state.lastSentAt = Date.now() - ms
    taken[what].add(state.lastSentAt, ms)
    begin()
  })
  void stream.ended.then((how) => {
    state.isOver = true
    failures.push(`a stream was ${how}: ${stream.text.slice(-200)}`)
  })
  return state
}

async function ask(what: What, url: string, init?: RequestInit): Promise<never> {
  for (;;) {
    const at = Date.now()
    try {
      const response = await fetch(url, init)
      const text = await response.text()
      if (!response.ok) failures.push(`${what}: ${response.status} ${text}`)
    } catch (error) {
      failures.push(`${what}: ${String(error)}`)
    }
    taken[what].add(at, Date.now() - at)
    await pause(pauseMs)
  }
}
