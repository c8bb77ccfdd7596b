import { describe, expect, it } from 'vitest'
import { Metrics } from '../foundation/metrics.ts'
import { fakePod } from './cluster-view.fixture.ts'
import { codeOf, never, setUp, settled } from './pod-pool.fixture.ts'
import { promptBlocks } from './picking/prompt-blocks.ts'

/** Probes that a test answers, and counts. */
function probes() {
  const seen: string[] = []
  const healthy = new Set<string>()
  const probe = ({ host }: { host: string }, path: string) => {
    seen.push(`${host}${path}`)
    return Promise.resolve(healthy.has(host))
  }
  return { seen, healthy, probe }
}

describe('PodPool and Pods that are not ready', () => {
  it('uses a Pod within milliseconds of its first healthy answer, before the cluster says that it is ready', async () => {
    const { seen, healthy, probe } = probes()
    const { clock, pods, pool } = setUp({ probe })
    const waiting = pool.reserve('tiny', {}, never)
    pods.put(fakePod('one', { ready: false, host: '127.64.0.7' }))
    await clock.advance(500)
    expect(pool.sample('tiny')?.waiting).toBe(1)
    healthy.add('127.64.0.7')
    await clock.advance(10)
    expect((await waiting).endpoint).toBe('one')
    expect(seen[0]).toBe('127.64.0.7/health')
    const asked = seen.length
    pods.put(fakePod('one', { ready: false, host: '127.64.0.7' }))
    expect((await pool.reserve('tiny', {}, never)).endpoint).toBe('one')
    pods.put(fakePod('one', { host: '127.64.0.7' }))
    await clock.advance(10_000)
    expect(seen).toHaveLength(asked)
  })

  it('asks nothing of a Pod whose model nobody waits for, and stops when the last one leaves', async () => {
    const { seen, probe } = probes()
    const { clock, pods, pool } = setUp({ probe })
    pods.put(fakePod('one', { ready: false }))
    await clock.advance(1_000)
    expect(seen).toEqual([])
    const client = new AbortController()
    const waiting = codeOf(pool.reserve('tiny', {}, client.signal))
    await clock.advance(100)
    expect(seen.length).toBeGreaterThan(10)
    client.abort(new Error('left'))
    await waiting
    await clock.advance(50)
    const asked = seen.length
    await clock.advance(10_000)
    expect(seen).toHaveLength(asked)
    expect(clock.pendingTimers).toBe(0)
  })

  it('keeps the number of questions bounded however long a model loads', async () => {
    const { seen, probe } = probes()
    const { clock, pods, pool } = setUp({ probe })
    void codeOf(pool.reserve('tiny', {}, never))
    pods.put(fakePod('one', { ready: false }))
    await clock.advance(10_000)
    const asked = seen.length
    await clock.advance(10_000)
    expect(seen.length - asked).toBeLessThanOrEqual(1_000)
  })

  it('gives nothing to a Pod that is not ready any more until it is, or answers', async () => {
    const { seen, healthy, probe } = probes()
    const { clock, pods, pool } = setUp({ probe })
    pods.put(fakePod('one'))
    const first = await pool.reserve('tiny', {}, never)
    first.release()
    pods.put(fakePod('one', { ready: false }))
    const waiting = pool.reserve('tiny', {}, never)
    await clock.advance(20)
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 1 })
    expect(seen.length).toBeGreaterThan(0)
    healthy.add('127.64.0.1')
    await clock.advance(20)
    expect((await waiting).endpoint).toBe('one')
  })

  it('asks a failed Pod at once when somebody comes to wait for it', async () => {
    const { seen, healthy, probe } = probes()
    const { clock, pods, pool } = setUp({ probe })
    pods.put(fakePod('one'))
    const seat = await pool.reserve('tiny', {}, never)
    seat.release('failed')
    await clock.advance(60_000)
    const asked = seen.length
    expect(asked).toBeLessThan(25)
    healthy.add('127.64.0.1')
    expect((await pool.reserve('tiny', {}, never)).endpoint).toBe('one')
    expect(seen).toHaveLength(asked + 1)
  })

  it('never uses a Pod that drains or ends, whatever it answers', async () => {
    const { healthy, probe } = probes()
    healthy.add('127.64.0.1')
    const { clock, pods, pool } = setUp({ probe })
    pods.put(fakePod('one', { ready: false, draining: true }))
    pods.put(fakePod('two', { terminating: true }))
    const waiting = codeOf(pool.reserve('tiny', {}, never))
    await clock.advance(1_000)
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 1 })
    pool.stop()
    expect(await waiting).toBe('stopping')
  })
})

describe('PodPool and Pods that are full', () => {
  it('lets requests beyond the capacity wait their turn, in the order they came', async () => {
    const { pods, pool } = setUp()
    pods.put(fakePod('one', { capacity: 2 }))
    const order: number[] = []
    const seats = await Promise.all([1, 2].map(() => pool.reserve('tiny', {}, never)))
    const waiting = [3, 4].map((turn) => pool.reserve('tiny', {}, never).then((seat) => (order.push(turn), seat)))
    await settled()
    expect(pool.sample('tiny')).toEqual({ active: 2, waiting: 2 })
    seats[0]?.release()
    await settled()
    expect(order).toEqual([3])
    seats[1]?.release()
    await Promise.all(waiting)
    expect(order).toEqual([3, 4])
    expect(pool.sample('tiny')).toEqual({ active: 2, waiting: 0 })
  })

  it('says after the deadline that they were busy, and does not count it as a wake', async () => {
    const metrics = new Metrics()
    const { clock, pods, pool } = setUp({ metrics, settings: { wakeDeadlineMs: 1_000 } })
    pods.put(fakePod('one', { capacity: 1 }))
    await pool.reserve('tiny', {}, never)
    const waiting = codeOf(pool.reserve('tiny', {}, never))
    await clock.advance(1_000)
    expect(await waiting).toBe('model_busy')
    expect(await metrics.text()).not.toContain('sluice_traffic_wakes_total{model="tiny"}')
  })
})

describe('PodPool and prompts', () => {
  const hint = (text: string) => {
    const body = Buffer.from(JSON.stringify({ messages: [{ role: 'system', content: text.repeat(200) }] }))
    return { prefix: () => promptBlocks(body) }
  }

  it('sends requests that begin alike to the same Pod, and others to the other', async () => {
    const { pods, pool } = setUp()
    pods.put(fakePod('one'))
    pods.put(fakePod('two'))
    const served = async (text: string) => {
      const seat = await pool.reserve('tiny', hint(text), never)
      seat.release()
      return seat.endpoint
    }
    const [law, code] = [await served('law '), await served('code ')]
    expect(law).not.toBe(code)
    for (let round = 0; round < 5; round++) {
      expect(await served('law ')).toBe(law)
      expect(await served('code ')).toBe(code)
    }
    pods.remove({ namespace: 'sluice', name: law })
    expect(await served('law ')).toBe(code)
  })

  it('does not read the prompt where there is only one Pod', async () => {
    const { pods, pool } = setUp()
    pods.put(fakePod('one'))
    const prefix = () => {
      throw new Error('read in vain')
    }
    expect((await pool.reserve('tiny', { prefix }, never)).endpoint).toBe('one')
  })
})

describe('PodPool and what a wake takes', () => {
  it('measures each phase once, from the first waiter on', async () => {
    const metrics = new Metrics()
    const { clock, pods, pool } = setUp({ metrics })
    const waiting = [pool.reserve('tiny', {}, never), pool.reserve('tiny', {}, never)]
    const placed = fakePod('one', { ready: false })
    placed.spec.nodeName = 'node'
    delete placed.status?.podIP
    await clock.advance(1_000)
    pods.put(placed)
    const started = structuredClone(placed)
    const status = { name: 'server', ready: false, restartCount: 0, image: '', imageID: '', state: { running: {} } }
    started.status = { phase: 'Running', podIP: '127.64.0.1', containerStatuses: [status] }
    await clock.advance(1_000)
    pods.put(started)
    await clock.advance(5_000)
    pods.put(fakePod('one'))
    const seats = await Promise.all(waiting)
    await clock.advance(500)
    for (const seat of seats) seat.answered()
    const text = await metrics.text()
    const sums = ['placed', 'started', 'loaded', 'first_byte'].map(
      (phase) => new RegExp(`wake_seconds_sum\\{model="tiny",phase="${phase}"\\} (\\S+)`).exec(text)?.[1],
    )
    expect(sums).toEqual(['1', '2', '7', '7.5'])
    expect(text).toContain('sluice_traffic_wake_seconds_count{model="tiny",phase="first_byte"} 1')
  })
})
