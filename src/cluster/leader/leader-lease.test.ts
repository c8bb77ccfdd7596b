import { beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import type { Clock } from '../../foundation/clock.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { leaseKind } from '../../resources/lease.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { StatusError } from '../../resources/status-error.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import type { ClusterClient } from '../cluster-client.ts'
import { EmbeddedClient } from '../embedded-client.ts'
import { LeaderClient } from './leader-client.ts'
import { LeaderLease } from './leader-lease.ts'
import { decideLease } from './lease-decision.ts'

describe('decideLease', () => {
  const record = { holder: 'other', durationMs: 15_000, version: '7' }
  const decide = (input: Partial<Parameters<typeof decideLease>[0]>) =>
    decideLease({ now: 100_000, identity: 'me', record, observed: undefined, ...input })

  it('creates what is not there, renews its own and takes what is free', () => {
    expect(decide({ record: undefined })).toBe('create')
    expect(decide({ record: { ...record, holder: 'me' } })).toBe('renew')
    expect(decide({ record: { ...record, holder: '' } })).toBe('take')
  })

  it('believes only its own clock that another one is gone', () => {
    expect(decide({})).toBe('wait')
    expect(decide({ observed: { version: '7', at: 85_001 } })).toBe('wait')
    expect(decide({ observed: { version: '7', at: 85_000 } })).toBe('take')
    expect(decide({ observed: { version: '6', at: 0 } })).toBe('wait')
  })
})

describe('LeaderLease', () => {
  let clock: FakeClock
  let client: EmbeddedClient
  let leaders: string[]
  beforeEach(async () => {
    clock = new FakeClock()
    client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock }))
    await client.create(namespaceKind, { metadata: { name: 'default' } })
    leaders = []
  })

  /** A candidate that leads until it is told to stop. */
  function candidate(identity: string, through: ClusterClient = client) {
    const stop = new AbortController()
    const options = { client: through, namespace: 'default', name: 'controllers', identity, clock, log: silentLogger }
    const lease = new LeaderLease({ ...options, random: () => 0 })
    const ended = lease.run(async (signal) => {
      leaders.push(`+${identity}`)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      leaders.push(`-${identity}`)
    }, stop.signal)
    return {
      async stop() {
        stop.abort()
        await clock.advance(0)
        await ended
      },
    }
  }

  const spec = async () => (await client.get(leaseKind, { namespace: 'default', name: 'controllers' }))?.spec

  it('is held by one, renewed, and taken over at once when it is let go', async () => {
    const first = candidate('a')
    await clock.advance(100)
    const second = candidate('b')
    await clock.advance(60_000)
    expect(leaders).toEqual(['+a'])
    expect(await spec()).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 })
    await first.stop()
    expect(leaders).toEqual(['+a', '-a'])
    expect((await spec())?.holderIdentity).toBe('')
    await clock.advance(2_000)
    expect(leaders).toEqual(['+a', '-a', '+b'])
    expect(await spec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 })
    await second.stop()
  })

  it('runs out when its holder is gone without a word', async () => {
    await client.create(leaseKind, {
      metadata: { namespace: 'default', name: 'controllers' },
      spec: { holderIdentity: 'crashed', leaseDurationSeconds: 15 },
    })
    const next = candidate('b')
    await clock.advance(14_000)
    expect(leaders).toEqual([])
    await clock.advance(4_000)
    expect(leaders).toEqual(['+b'])
    await next.stop()
  })

  it('is given up by a leader that cannot renew, before another may take it', async () => {
    let broken = false
    const flaky = new Proxy(client, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          if (broken) return Promise.reject(new StatusError('ServiceUnavailable', 'not now'))
          return Reflect.apply(value, target, args) as unknown
        }
      },
    })
    const cut = candidate('a', flaky)
    await clock.advance(4_100)
    broken = true
    await clock.advance(9_000)
    expect(leaders).toEqual(['+a'])
    await clock.advance(2_000)
    expect(leaders).toEqual(['+a', '-a'])
    const next = candidate('b')
    await clock.advance(20_000)
    expect(leaders).toEqual(['+a', '-a', '+b'])
    broken = false
    await clock.advance(30_000)
    expect(leaders).toEqual(['+a', '-a', '+b'])
    await cut.stop()
    await next.stop()
  })

  it('is given up by a leader whose server does not answer at all', async () => {
    let hanging = false
    const silent = new Proxy(client, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) =>
          hanging ? new Promise(() => {}) : (Reflect.apply(value, target, args) as unknown)
      },
    })
    candidate('a', silent)
    await clock.advance(4_100)
    hanging = true
    await clock.advance(12_000)
    expect(leaders).toEqual(['+a', '-a'])
  })

  it('is given up at once when another one holds it', async () => {
    const first = candidate('a')
    await clock.advance(100)
    const lease = await client.get(leaseKind, { namespace: 'default', name: 'controllers' })
    if (lease) await client.update(leaseKind, { ...lease, spec: { ...lease.spec, holderIdentity: 'usurper' } })
    await clock.advance(2_100)
    expect(leaders).toEqual(['+a', '-a'])
    await first.stop()
  })

  it('is let go although a renewal that was on its way came in between', async () => {
    let late = 0
    const crossed = new Proxy(client, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property)
        if (typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          if (property === 'update' && late > 0) {
            late -= 1
            const lease = await client.get(leaseKind, { namespace: 'default', name: 'controllers' })
            if (lease) await client.update(leaseKind, { ...lease, spec: { ...lease.spec, renewTime: lateTime } })
          }
          return Reflect.apply(value, target, args) as unknown
        }
      },
    })
    const lateTime = '2030-01-01T00:00:09.000000Z'
    const leader = candidate('a', crossed)
    await clock.advance(100)
    late = 1
    const stopped = leader.stop()
    await clock.advance(2_000)
    await stopped
    expect((await spec())?.holderIdentity).toBe('')
  })

  it('lets nothing be changed by a leader that was paused, before it has heard that it no longer leads', async () => {
    // After a pause the time is another, but timers have not fired yet.
    let pausedMs = 0
    const pausing: Clock = {
      now: () => clock.now() + pausedMs,
      after: (ms, callback) => clock.after(ms, callback),
      sleep: (ms, signal) => clock.sleep(ms, signal),
    }
    const options = { client, namespace: 'default', name: 'controllers', identity: 'a', log: silentLogger }
    const lease = new LeaderLease({ ...options, clock: pausing, random: () => 0 })
    const leader = new LeaderClient(client, lease)
    const metadata = { namespace: 'default', name: 'work' }
    const change = () => leader.create(leaseKind, { metadata }).then(() => 'changed', String)
    const refused = 'Error: nothing is changed: this one may no longer lead'
    expect(await change()).toBe(refused)
    const stop = new AbortController()
    const ended = lease.run(
      (lost) => new Promise((resolve) => lost.addEventListener('abort', () => resolve())),
      stop.signal,
    )
    await clock.advance(0)
    expect(await change()).toBe('changed')
    await clock.advance(60_000)
    expect(await leader.patch(leaseKind, metadata, { spec: { holderIdentity: 'x' } })).toBeDefined()
    pausedMs = 10_000
    expect(await change()).toBe(refused)
    const late = [
      () => leader.patch(leaseKind, metadata, {}),
      () => leader.delete(leaseKind, metadata),
      () => leader.changeStatus(leaseKind, metadata, (object) => object),
      () => leader.scale(leaseKind, metadata, 1),
    ]
    for (const act of late) await expect(act()).rejects.toThrow('nothing is changed')
    expect((await leader.list(leaseKind)).items).toHaveLength(2)
    stop.abort()
    await clock.advance(10_000)
    await ended
    expect(await change()).toBe(refused)
  })

  it('is read once, and then only written, while nobody else writes it', async () => {
    let reads = 0
    const counted = new Proxy(client, {
      get(target, property) {
        if (property === 'get') reads += 1
        const value: unknown = Reflect.get(target, property)
        return typeof value === 'function'
          ? (...args: unknown[]) => Reflect.apply(value, target, args) as unknown
          : value
      },
    })
    const leader = candidate('a', counted)
    await clock.advance(60_000)
    expect(reads).toBe(1)
    await client.patch(leaseKind, { namespace: 'default', name: 'controllers' }, { metadata: { labels: { a: 'b' } } })
    await clock.advance(60_000)
    expect(reads).toBe(2)
    expect(leaders).toEqual(['+a'])
    await leader.stop()
  })

  it('must be given up before it runs out', () => {
    const options = { client, namespace: 'default', name: 'x', identity: 'a', clock, log: silentLogger }
    expect(() => new LeaderLease({ ...options, durationMs: 5_000, renewDeadlineMs: 5_000 })).toThrow(RangeError)
  })
})
