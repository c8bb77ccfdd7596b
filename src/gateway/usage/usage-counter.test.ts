import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import type { ServedUsage } from '../../resources/usage-record.ts'
import { PromptEstimate } from './prompt-estimate.ts'
import { countEvents } from './stream-events.ts'
import { type FinishedRequest, UsageCounter } from './usage-counter.ts'

const finished = (more: Partial<FinishedRequest>): FinishedRequest => ({
  route: 'chat/completions',
  model: 'tiny',
  key: undefined,
  status: 200,
  complete: true,
  usage: undefined,
  bodyBytes: 0,
  events: 0,
  bytes: 0,
  ...more,
})

describe('UsageCounter', () => {
  it('tells keys apart, also from requests without one, and passes over requests of no model', () => {
    const told: ServedUsage[] = []
    const counter = new UsageCounter({ clock: new FakeClock(), tell: (served) => told.push(...served) })
    for (const key of ['a', 'b', undefined, 'a']) counter.count(finished({ key }), false)
    counter.count(finished({ model: undefined, status: 404 }), false)
    counter.close()
    expect(told.map(({ key, requests }) => [key, requests])).toEqual([['a', 2], ['b', 1], [undefined, 1]]) // prettier-ignore
    counter.close()
    expect(told).toHaveLength(3)
  })

  it('holds a bounded number of keys, and loses none', () => {
    const clock = new FakeClock()
    const told: Array<readonly ServedUsage[]> = []
    const counter = new UsageCounter({ clock, tell: (served) => told.push(served) })
    for (let count = 0; count < 4_500; count++) counter.count(finished({ key: `key-${count}` }), false)
    expect([told.map(({ length }) => length), clock.pendingTimers]).toEqual([[2_000, 2_000], 1])
    counter.close()
    expect(told.flat()).toHaveLength(4_500)
  })
})

describe('events of a stream', () => {
  it.each([
    ['data: {"a":1}\n\ndata:{"b":2}\n\ndata: [DONE]\n\n', 2],
    [': waking data: {\n\n', 0],
    ['data: {"content":"data: {"}\r\n\r\ndata: {}', 2],
    ['event: message\ndata: {}\n\n', 1],
    ['', 0],
  ])('are counted in %j', (text, count) => {
    expect(countEvents(Buffer.from(text))).toBe(count)
  })
})

describe('PromptEstimate', () => {
  it('follows what a model’s prompts are like now', () => {
    const estimate = new PromptEstimate()
    expect(estimate.tokensOf('tiny', 400)).toBe(100)
    estimate.learn('tiny', 1_000, 500)
    expect([estimate.tokensOf('tiny', 400), estimate.tokensOf('other', 400)]).toEqual([200, 100])
    for (let count = 0; count < 100; count++) estimate.learn('tiny', 800_000, 100_000)
    expect(estimate.tokensOf('tiny', 400)).toBe(50)
  })
})
