import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { HeldObjects } from '../../resources/object-cache.ts'
import type { Pod } from '../../resources/pod.ts'
import { loading, podWith } from './loading-pod.fixture.ts'
import { shownLine, durationText } from './start-progress.ts'
import { StartWatch, type StartWatchOptions } from './start-watch.ts'

describe('StartWatch', () => {
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
    const tails: Record<string, string | Error> = {}
    const asked: string[] = []
    const news: string[] = []
    const given: string[] = []
    const stalls: string[] = []
    const watch = new StartWatch({
      pods,
      clock,
      log: silentLogger,
      readLogTail: async (pod, container) => {
        asked.push(`${pod.metadata.name}/${container}`)
        const tail = tails[pod.metadata.name] ?? ''
        if (tail instanceof Error) throw tail
        return tail
      },
      stalledMs: () => 60_000,
      quietMs: () => 30_000,
      percentIn: (_pod, line) => (/^\d+%$/.test(line) ? Number.parseInt(line, 10) : undefined),
      onStall: (pod, isStalled) => stalls.push(`${pod.metadata.name} ${isStalled ? 'stalled' : 'goes on'}`),
      redact: (_pod, line) => line.replaceAll('secret', '…'),
      onNews: (pod) => news.push(pod.metadata.name),
      giveUp: async (pod, why) => void given.push(`${pod.metadata.name}: ${why}`),
      ...options,
    })
    running = watch.run(stopping.signal)
    return { clock, pods, tails, asked, news, given, stalls, watch }
  }

  it('asks nothing while nothing starts, of what starts quickly, and of Pods of others', async () => {
    const { clock, pods, asked } = stage()
    pods.put(podWith('ready', { state: { running: {} }, started: true }))
    pods.put(podWith('waiting', { state: { waiting: { reason: 'ContainerCreating' } } }))
    pods.put(podWith('other', loading, {}, 'ReplicaSet'))
    await clock.advance(120_000)
    expect(clock.pendingTimers).toBe(0)
    const quick = podWith('quick', loading)
    pods.put(quick)
    await clock.advance(9_000)
    pods.put(podWith('quick', { ...loading, started: true }))
    await clock.advance(60_000)
    expect(asked).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })

  it('tells for how long a Pod loads, and what it wrote last', async () => {
    const { clock, pods, tails, asked, news, watch } = stage()
    const pod = podWith('a', loading)
    pods.put(pod)
    expect(watch.progressOf(pod)).toBeUndefined()
    tails['a'] = '2030-01-01T00:00:00Z shard 1, with the secret\n'
    await clock.advance(10_000)
    expect(watch.progressOf(pod)).toEqual({ loadingMs: 10_000, lastLine: 'shard 1, with the …', silentMs: 0 })
    await clock.advance(20_000)
    expect(watch.progressOf(pod)).toEqual({ loadingMs: 30_000, lastLine: 'shard 1, with the …', silentMs: 20_000 })
    // The same words again are news.
    tails['a'] = '2030-01-01T00:00:31Z shard 1, with the secret\n'
    await clock.advance(10_000)
    expect(watch.progressOf(pod)?.silentMs).toBe(0)
    expect(asked).toHaveLength(4)
    expect(news).toHaveLength(4)
  })

  it('gives up what shows nothing new for as long as is allowed, and not what goes on', async () => {
    const { clock, pods, tails, given } = stage()
    pods.put(podWith('stuck', loading))
    pods.put(podWith('mute', loading))
    pods.put(podWith('slow', loading))
    tails['stuck'] = 'T0 waiting for the other ranks'
    for (let look = 0; look < 7; look++) {
      tails['slow'] = `T${look} shard ${look}`
      await clock.advance(10_000)
    }
    expect([...new Set(given)]).toEqual([
      'mute: no progress for 1 min; it wrote nothing',
      'stuck: no progress for 1 min; last log line: waiting for the other ranks',
    ])
  })

  it('never gives up where the log cannot be read, or where that was not asked for', async () => {
    const { clock, pods, tails, given, watch } = stage({ stalledMs: (pod) => (pod.metadata.name === 'a' ? 60_000 : 0) })
    tails['a'] = new Error('forbidden')
    pods.put(podWith('a', loading))
    pods.put(podWith('b', loading))
    await clock.advance(3_600_000)
    expect(given).toEqual([])
    expect(watch.progressOf(podWith('a', loading))).toEqual({
      loadingMs: 3_600_000,
      lastLine: undefined,
      silentMs: 0,
    })
  })

  it('begins anew with another run of the container, and looks at the one that copies files first', async () => {
    const { clock, pods, asked, watch } = stage()
    const copying = podWith(
      'a',
      { state: { waiting: {} } },
      {
        phase: 'Pending',
        initContainerStatuses: [
          { ...loading, name: 'weights', ready: false, restartCount: 0, image: 'i', imageID: 'i' },
        ],
      },
    )
    pods.put(copying)
    await clock.advance(20_000)
    pods.put(podWith('a', loading))
    expect(watch.progressOf(copying)).toBeUndefined()
    await clock.advance(10_000)
    pods.put(podWith('a', { ...loading, restartCount: 1 }))
    await clock.advance(10_000)
    expect(watch.progressOf(copying)?.loadingMs).toBe(10_000)
    expect(asked).toEqual(['a/weights', 'a/weights', 'a/engine', 'a/engine'])
  })

  it('asks few at a time, and each of many in turn', async () => {
    let most = 0
    let atOnce = 0
    const counts = new Map<string, number>()
    const { clock, pods } = stage({
      readLogTail: async (pod) => {
        most = Math.max(most, ++atOnce)
        await Promise.resolve()
        atOnce -= 1
        counts.set(pod.metadata.name, (counts.get(pod.metadata.name) ?? 0) + 1)
        return ''
      },
      stalledMs: () => 0,
    })
    for (let index = 0; index < 100; index++) pods.put(podWith(`p${index}`, loading))
    await clock.advance(21_000)
    expect(most).toBe(4)
    // Eight each second, from the tenth on.
    expect([...counts.values()].reduce((sum, count) => sum + count)).toBe(96)
    await clock.advance(1_000)
    expect(counts.size).toBe(100)
  })

  it('takes a jump of the clock for no passed time', async () => {
    const { clock, pods, given, watch } = stage()
    pods.put(podWith('a', loading))
    await clock.advance(10_000)
    clock.now = () => Date.UTC(2040, 0, 1)
    await clock.advance(10_000)
    expect(watch.progressOf(podWith('a', loading))?.loadingMs).toBeLessThan(60_000)
    expect(given).toEqual([])
  })
})

describe('a line of a log, as it is shown', () => {
  it.each([
    ['2030-01-01T00:00:00.1Z Loading 3/160\n', 'Loading 3/160'],
    ['T one\nT2 two\n', 'two'],
    ['T \u001b[32mgreen\u001b[0m\tand\u0007 more', 'greenand more'],
    ['T  10%\r 20%\r 30%\r', '30%'],
    ['T \n', undefined],
    ['', undefined],
    [`T ${'x'.repeat(300)}`, `${'x'.repeat(200)}…`],
  ])('%j is %j', (text, shown) => {
    expect(shownLine(text)).toBe(shown)
  })

  it.each([
    [9_999, '0 s'],
    [45_000, '40 s'],
    [12 * 60_000 + 59_000, '12 min'],
    [3_600_000 + 5 * 60_000, '1 h 5 min'],
  ])('has an age: %d ms are %s', (ms, text) => {
    expect(durationText(ms)).toBe(text)
  })
})
