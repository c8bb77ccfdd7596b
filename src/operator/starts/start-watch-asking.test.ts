import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import { HeldObjects } from '../../resources/object-cache.ts'
import { type Pod, podSchema } from '../../resources/pod.ts'
import { loading, podWith } from './loading-pod.fixture.ts'
import { StartWatch, type StartWatchOptions } from './start-watch.ts'

describe('StartWatch of a program that says how far it is', () => {
  let stopping = new AbortController()
  let running: Promise<void> | undefined
  beforeEach(() => {
    stopping = new AbortController()
  })
  afterEach(async () => {
    stopping.abort()
    await running
  })

  function stage(options: Partial<StartWatchOptions> = {}) {
    const clock = new FakeClock()
    const pods = new HeldObjects<Pod>()
    const seen = { answer: undefined as unknown, tail: '', asked: 0, logs: 0 }
    const news: number[] = []
    const told: string[] = []
    const watch = new StartWatch({
      pods,
      clock,
      log: silentLogger,
      readLogTail: async () => {
        seen.logs += 1
        return seen.tail
      },
      askHealth: async ({ host, port, path }) => {
        seen.asked += 1
        expect([host, port, path]).toEqual(['10.0.0.7', 8900, '/health'])
        if (seen.answer instanceof Error) throw seen.answer
        return seen.answer
      },
      stalledMs: () => 600_000,
      quietMs: () => 30_000,
      percentIn: (_pod, line) => (/^\d+%$/.test(line) ? Number.parseInt(line, 10) : undefined),
      redact: (_pod, line) => line,
      onNews: () => news.push(clock.now()),
      onStall: (_pod, isStalled, { loading }) =>
        void told.push(`${isStalled ? 'stalled' : 'goes on'} at ${loading?.percent} %`),
      giveUp: async (_pod, why) => void told.push(why),
      ...options,
    })
    running = watch.run(stopping.signal)
    const pod = askedPod()
    pods.put(pod)
    const loadingNow = () => watch.progressOf(pod)?.loading
    return { clock, pods, pod, seen, news, told, watch, loadingNow }
  }

  function askedPod(): Pod {
    const pod = podWith('a', { ...loading, state: { running: { startedAt: '2029-12-31T23:59:50Z' } } })
    const startupProbe = { httpGet: { path: '/health', port: 'http' } }
    const ports = [{ name: 'http', containerPort: 8900 }]
    return podSchema.parse({
      ...pod,
      spec: { containers: [{ name: 'engine', ports, startupProbe }] },
      status: { ...pod.status, podIP: '10.0.0.7' },
    })
  }

  const reading = (bytes: number, stillSeconds = 0) => ({
    phase: 'reading',
    bytes,
    totalBytes: 1_000_000,
    stillSeconds,
  })

  it('asks nothing of what takes less than a second, and then every other second', async () => {
    const { clock, pods, seen } = stage()
    seen.answer = reading(10)
    await clock.advance(900)
    expect(seen.asked).toBe(0)
    await clock.advance(100)
    expect(seen.asked).toBe(1)
    await clock.advance(10_000)
    expect([seen.asked, seen.logs]).toEqual([6, 1])
    pods.put(podWith('a', { ...loading, started: true }))
    await clock.advance(60_000)
    expect(seen.asked).toBe(6)
    expect(clock.pendingTimers).toBe(0)
  })

  it('tells phase, percent and bytes, and is news only when the percent is another', async () => {
    const { clock, seen, news, loadingNow } = stage()
    seen.answer = reading(450_000)
    await clock.advance(1_000)
    expect(loadingNow()).toEqual({
      phase: 'Reading',
      percent: 45,
      bytes: 450_000,
      totalBytes: 1_000_000,
      progress: '45 %',
      since: '2029-12-31T23:59:50Z',
      movedAt: '2030-01-01T00:00:01Z',
    })
    const shown = loadingNow()
    expect(news).toHaveLength(1)
    seen.answer = reading(459_999)
    await clock.advance(4_000)
    expect(loadingNow()).toBe(shown)
    expect(news).toHaveLength(1)
    seen.answer = reading(460_000)
    await clock.advance(2_000)
    expect(loadingNow()).toMatchObject({ percent: 46, movedAt: '2030-01-01T00:00:07Z' })
    expect(news).toHaveLength(2)
    seen.answer = { phase: 'preparing', bytes: 1_000_000, totalBytes: 1_000_000 }
    await clock.advance(2_000)
    expect(loadingNow()).toMatchObject({ phase: 'Preparing', progress: 'Preparing' })
    expect(loadingNow()).not.toHaveProperty('percent')
  })

  it('says of a load that moves within a percent that it moves, twice a minute', async () => {
    const { clock, seen, loadingNow } = stage()
    const shown = new Set<unknown>()
    for (let second = 0; second < 600; second++) {
      seen.answer = reading(second)
      await clock.advance(1_000)
      shown.add(loadingNow())
    }
    shown.delete(undefined)
    expect(shown.size).toBe(20)
  })

  it('tells a disk that hangs from a slow one, before it gives up', async () => {
    const { clock, seen, told, loadingNow } = stage()
    for (let look = 0; look < 3_600; look++) {
      // A byte each second, and nothing in the log.
      seen.answer = reading(look)
      await clock.advance(1_000)
    }
    expect(told).toEqual([])
    for (let still = 0; still < 40; still++) {
      seen.answer = reading(3_600, still)
      await clock.advance(1_000)
    }
    expect(told).toEqual(['stalled at 0 %'])
    expect(loadingNow()).toMatchObject({ stalled: true, progress: '0 %, stalled' })
    seen.answer = reading(500_000)
    await clock.advance(2_000)
    expect(told).toEqual(['stalled at 0 %', 'goes on at 50 %'])
    expect(loadingNow()).toMatchObject({ progress: '50 %' })
    // Even the program does not answer any more.
    seen.answer = new Error('timeout')
    await clock.advance(620_000)
    const why = 'no progress for 10 min; its files are being read, 50 % (0.5 of 1.0 MB)'
    expect(told.slice(2)).toContain(why)
    expect(told[2]).toBe('stalled at 50 %')
  })

  it('does not call a program stalled that computes', async () => {
    const { clock, seen, told } = stage()
    seen.answer = { phase: 'preparing', bytes: 10, totalBytes: 10, stillSeconds: 300 }
    await clock.advance(300_000)
    expect(told).toEqual([])
  })

  it('reads how far it is from the log of one that answers nothing', async () => {
    const { clock, seen, loadingNow, told } = stage()
    seen.answer = new Error('connection refused')
    seen.tail = 'T1 45%'
    await clock.advance(10_000)
    expect(loadingNow()).toMatchObject({ phase: 'Loading', percent: 45, progress: '45 %' })
    seen.tail = 'T2 something else'
    await clock.advance(10_000)
    expect(loadingNow()).toMatchObject({ percent: 45 })
    seen.tail = 'T3 100%'
    await clock.advance(10_000)
    seen.tail = 'T4 capturing graphs'
    await clock.advance(10_000)
    expect(loadingNow()).toMatchObject({ phase: 'Preparing' })
    expect(told).toEqual([])
  })

  it('stops asking one that has nothing to say', async () => {
    const { clock, seen, loadingNow } = stage()
    seen.answer = { error: { message: 'Loading model' } }
    await clock.advance(600_000)
    expect(seen.asked).toBe(15)
    expect(loadingNow()).toBeUndefined()
    expect(seen.logs).toBeGreaterThan(50)
  })

  it('remembers how long a Pod has taken, for as long as there is the Pod', async () => {
    const { clock, pods, pod, watch } = stage()
    await clock.advance(32_000)
    const started = { ...loading, started: true }
    pods.put(podWith('a', started))
    // It began ten seconds before it was seen.
    expect(watch.loadSecondsOf(pod)).toBe(42)
    pods.put(podWith('a', started, { conditions: [] }))
    await clock.advance(3_600_000)
    pods.put(podWith('a', started))
    expect(watch.loadSecondsOf(pod)).toBe(42)
    pods.remove(refOf(pod), pod)
    expect(watch.loadSecondsOf(pod)).toBeUndefined()
  })
})
