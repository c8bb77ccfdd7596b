import { describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { Metrics } from '../foundation/metrics.ts'
import type { Model } from '../resources/model.ts'
import type { Pod } from '../resources/pod.ts'
import { FakeCache, fakeModel, fakePod } from '../traffic/cluster-view.fixture.ts'
import { CardMeter } from './card-meter.ts'

const card = 'nvidia.com/gpu-l40s'

function podWithCards(name: string, cards: number, options: { ready?: boolean; placed?: boolean } = {}): Pod {
  const { ready = true, placed = true } = options
  const pod = fakePod(name, { ready })
  const limits = { [card]: String(cards), cpu: '8', memory: '32Gi' }
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(placed && { nodeName: 'node' }),
      containers: pod.spec.containers.map((container) => ({ ...container, resources: { limits } })),
    },
  }
}

function setUp() {
  const clock = new FakeClock()
  const wall = { offsetMs: 0 }
  const wallClock = {
    now: () => clock.now() + wall.offsetMs,
    after: (ms: number, callback: () => void) => clock.after(ms, callback),
    sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
  }
  const metrics = new Metrics()
  const pods = new FakeCache<Pod>()
  const models = new FakeCache<Model>()
  models.put(fakeModel('tiny'))
  const inFlight = new Map<string, number>()
  const demand = { inFlightByEndpoint: () => inFlight }
  const meter = new CardMeter({ namespace: 'sluice', pods, models, demand, clock: wallClock, metrics })
  meter.start()
  const seconds = async (state: string) =>
    Number(
      new RegExp(`card_seconds_total\\{model="tiny",card="${card}",state="${state}"\\} (\\S+)`).exec(
        await metrics.text(),
      )?.[1] ?? 0,
    )
  const held = async () => Number(/gateway_cards\{.*\} (\S+)/.exec(await metrics.text())?.[1])
  return { clock, wall, pods, inFlight, meter, seconds, held }
}

describe('CardMeter', () => {
  it('counts no cards of a Pod that only wears the label of the model', async () => {
    const { clock, pods, seconds } = setUp()
    const stranger = podWithCards('stranger', 2)
    delete stranger.metadata.ownerReferences
    pods.put(stranger)
    await clock.advance(10_000)
    expect(await seconds('idle')).toBe(0)
  })

  it('counts what Pods hold from their placing to their end, by what they do with it', async () => {
    const { clock, pods, inFlight, seconds, held } = setUp()
    pods.put(podWithCards('one', 2, { ready: false, placed: false }))
    await clock.advance(10_000)
    expect(await seconds('starting')).toBe(0)
    pods.put(podWithCards('one', 2, { ready: false }))
    await clock.advance(10_000)
    pods.put(podWithCards('one', 2))
    inFlight.set('one', 1)
    await clock.advance(30_000)
    inFlight.clear()
    await clock.advance(60_000)
    expect(await held()).toBe(2)
    pods.put({ ...podWithCards('one', 2), status: { phase: 'Failed' } })
    await clock.advance(60_000)
    expect([await seconds('starting'), await seconds('active'), await seconds('idle')]).toEqual([20, 60, 120])
    expect(await held()).toBe(0)
  })

  it('does not bill a night that the machine slept through, nor a clock that was set back', async () => {
    const { clock, wall, pods, seconds, meter } = setUp()
    pods.put(podWithCards('one', 1))
    await clock.advance(1_000)
    wall.offsetMs = 8 * 3_600_000
    await clock.advance(1_000)
    wall.offsetMs = 0
    await clock.advance(2_000)
    expect(await seconds('idle')).toBe(1 + 10 + 0 + 1)
    meter.stop()
    await clock.advance(5_000)
    expect(await seconds('idle')).toBe(12)
    expect(clock.pendingTimers).toBe(0)
  })

  it('leaves out Pods that are of no Model, of elsewhere, or without cards', async () => {
    const { clock, pods, seconds } = setUp()
    const pod = podWithCards('a', 1)
    pods.put({ ...pod, metadata: { ...pod.metadata, labels: {} } })
    pods.put({ ...pod, metadata: { ...pod.metadata, name: 'b', namespace: 'elsewhere' } })
    pods.put(fakePod('c'))
    await clock.advance(5_000)
    expect(await seconds('idle')).toBe(0)
  })
})
