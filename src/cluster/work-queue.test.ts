import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { type Logger, silentLogger } from '../foundation/log.ts'
import type { ObjectRef } from '../resources/object-ref.ts'
import { type Reconcile, WorkQueue } from './work-queue.ts'

describe('WorkQueue', () => {
  let clock: FakeClock
  let stop: AbortController
  let running: Promise<void> | undefined

  beforeEach(() => {
    clock = new FakeClock(0)
    stop = new AbortController()
    running = undefined
  })
  afterEach(async () => {
    stop.abort()
    await running
  })

  function start(reconcile: Reconcile<string>, options: { concurrency?: number; deadlineMs?: number } = {}) {
    const queue = new WorkQueue({ name: 'test', reconcile, clock, log: silentLogger, random: () => 1, ...options })
    running = queue.run(stop.signal)
    return queue
  }

  it('works on a key once, however often it was added before', async () => {
    const done: string[] = []
    const queue = start(async (key) => void done.push(key))
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key)
    await clock.advance(0)
    expect(done).toEqual(['a', 'b'])
  })

  it('takes references to the same object for one, whoever made them', async () => {
    const done: ObjectRef[] = []
    const queue = new WorkQueue({
      name: 'test',
      reconcile: async (ref) => void done.push(ref),
      clock,
      log: silentLogger,
    })
    queue.add({ namespace: 'a', name: 'x' })
    queue.add({ name: 'x', namespace: 'a' })
    queue.add({ name: 'x' })
    running = queue.run(stop.signal)
    await clock.advance(0)
    expect(done).toEqual([{ namespace: 'a', name: 'x' }, { name: 'x' }])
  })

  it('takes keys that were added before it ran', async () => {
    const done: string[] = []
    const queue = new WorkQueue<string>({
      name: 'test',
      reconcile: async (key) => void done.push(key),
      clock,
      log: silentLogger,
    })
    queue.add('early')
    running = queue.run(stop.signal)
    await clock.advance(0)
    expect(done).toEqual(['early'])
  })

  it('runs a key again that was added while it was worked on, and never twice at once', async () => {
    let active = 0
    let most = 0
    let runs = 0
    const gates: Array<() => void> = []
    const queue = start(
      async () => {
        runs += 1
        most = Math.max(most, (active += 1))
        await new Promise<void>((resolve) => gates.push(resolve))
        active -= 1
      },
      { concurrency: 4 },
    )
    queue.add('a')
    await clock.advance(0)
    queue.add('a')
    queue.add('a')
    await clock.advance(0)
    expect(runs).toBe(1)
    gates.shift()?.()
    await clock.advance(0)
    expect(runs).toBe(2)
    gates.shift()?.()
    await clock.advance(0)
    expect({ runs, most }).toEqual({ runs: 2, most: 1 })
  })

  it('works on as many keys at once as it may, and no more', async () => {
    const gates: Array<() => void> = []
    const queue = start(() => new Promise<void>((resolve) => gates.push(resolve)), { concurrency: 2 })
    for (const key of ['a', 'b', 'c']) queue.add(key)
    await clock.advance(0)
    expect(gates).toHaveLength(2)
    gates[0]?.()
    await clock.advance(0)
    expect(gates).toHaveLength(3)
    for (const open of gates) open()
  })

  it('tries again after a failure, waiting longer each time, and from the beginning after a success', async () => {
    const times: number[] = []
    const queue = start(async () => {
      times.push(clock.now())
      if (times.length <= 3 || times.length === 5) throw new Error('not yet')
    })
    queue.add('a')
    await clock.advance(1_000)
    expect(times).toEqual([0, 5, 15, 35])
    queue.add('a')
    await clock.advance(1_000)
    expect(times.slice(4)).toEqual([1_000, 1_005])
  })

  it('never waits longer than a minute between tries', async () => {
    const times: number[] = []
    const queue = start(async () => {
      times.push(clock.now())
      throw new Error('never')
    })
    queue.add('a')
    await clock.advance(30 * 60_000)
    const last = times.slice(-2)
    expect((last[1] ?? 0) - (last[0] ?? 0)).toBe(60_000)
  })

  it('comes back when the reconciler asks for it', async () => {
    const times: number[] = []
    const queue = start(async () => {
      times.push(clock.now())
      return { requeueAfterMs: 400 }
    })
    queue.add('a')
    await clock.advance(1_000)
    expect(times).toEqual([0, 400, 800])
  })

  it('keeps the earlier of two delays, and an add now replaces both', async () => {
    const times: number[] = []
    const queue = start(async () => void times.push(clock.now()))
    queue.addAfter('a', 100)
    queue.addAfter('a', 500)
    queue.addAfter('b', 500)
    queue.addAfter('b', 100)
    await clock.advance(1_000)
    expect(times).toEqual([100, 100])
    queue.addAfter('a', 100)
    queue.add('a')
    await clock.advance(1_000)
    expect(times.slice(2)).toEqual([1_000])
  })

  it('aborts a reconcile that takes too long, and tries again', async () => {
    let runs = 0
    const queue = start(
      (_key, signal) => {
        runs += 1
        return runs > 1 ? Promise.resolve() : clock.sleep(60_000, signal)
      },
      { deadlineMs: 1_000 },
    )
    queue.add('a')
    await clock.advance(999)
    expect(runs).toBe(1)
    await clock.advance(100)
    expect(runs).toBe(2)
  })

  it('ends what is under way before it returns, and takes nothing after', async () => {
    let ended = false
    const queue = start(async (_key, signal) => {
      await clock.sleep(60_000, signal).catch(() => {})
      ended = true
    })
    queue.add('a')
    queue.addAfter('later', 100)
    await clock.advance(0)
    stop.abort()
    await running
    expect(ended).toBe(true)
    queue.add('b')
    queue.addAfter('c', 10)
    expect(clock.pendingTimers).toBe(0)
  })

  it('lets the event loop turn although its reconciles never wait for anything and feed each other for ever', async () => {
    let runs = 0
    const queue: WorkQueue<string> = start(async (key) => {
      runs += 1
      if (!stop.signal.aborted) queue.add(key === 'a' ? 'b' : 'a')
      for (let index = 0; index < 100; index += 1) queue.add(`fresh ${runs} ${index}`)
    })
    queue.add('a')
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    expect(runs).toBeLessThan(1_000)
  })

  it('slows down two controllers that write against each other, says so once, and is itself again when they stop', async () => {
    const warnings: unknown[] = []
    const log: Logger = Object.assign(Object.create(silentLogger), { warn: (fields: unknown) => warnings.push(fields) })
    let runs = 0
    let fighting = true
    const queue: WorkQueue<string> = new WorkQueue({
      name: 'fight',
      clock,
      log,
      reconcile: async (key) => {
        runs += 1
        // What the other one writes comes back through the cache a moment later.
        if (fighting) clock.after(1, () => queue.add(key))
      },
    })
    running = queue.run(stop.signal)
    queue.add('ns/field')
    await clock.advance(10 * 60_000)
    expect(runs).toBeGreaterThan(200)
    expect(runs).toBeLessThan(700)
    expect(warnings).toEqual([{ queue: 'fight', key: 'ns/field' }])
    fighting = false
    await clock.advance(20_000)
    runs = 0
    queue.add('ns/field')
    await clock.advance(0)
    expect(runs).toBe(1)
  })

  it('does not try a failing key at once again because of what the failure itself has written', async () => {
    let runs = 0
    const queue: WorkQueue<string> = start(async (key) => {
      runs += 1
      queue.add(key)
      clock.after(1, () => queue.add(key))
      throw new Error(`refused, for the ${runs}th time`)
    })
    queue.add('a')
    await clock.advance(10 * 60_000)
    // 5 ms doubled up to a minute, a tenth of it after news: about one in six seconds in the end.
    expect(runs).toBeLessThan(130)
  })

  it('tries a failing key soon when there is news of it, and at once when somebody waits for it', async () => {
    const times: number[] = []
    const queue = start(async () => {
      times.push(clock.now())
      throw new Error('never')
    })
    queue.add('a')
    await clock.advance(5 * 60_000)
    const before = times.length
    queue.add('a')
    await clock.advance(6_000)
    expect(times.length).toBe(before + 1)
    queue.addAtOnce('a')
    await clock.advance(0)
    expect(times.length).toBe(before + 2)
  })

  it('retries at most ten a second after a hundred at once, however many keys fail', async () => {
    let runs = 0
    const queue = start(async () => {
      runs += 1
      throw new Error('the cluster is away')
    })
    for (let index = 0; index < 1_000; index += 1) queue.add(`key ${index}`)
    await clock.advance(60_000)
    expect(runs).toBeLessThan(1_000 + 100 + 60 * 10 + 50)
  })

  it('leaves nothing on the signal that all reconciles share', async () => {
    const queue = start(async (_key, signal) => {
      signal.addEventListener('abort', () => {})
    })
    for (let index = 0; index < 1_000; index += 1) queue.add(`key ${index}`)
    await clock.advance(1_000)
    expect(getEventListeners(stop.signal, 'abort').length).toBeLessThanOrEqual(2)
  })
})
