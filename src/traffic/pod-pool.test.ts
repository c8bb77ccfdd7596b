import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import * as fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Metrics } from '../foundation/metrics.ts'
import { fakeKeys, fakeModel, fakePod } from './cluster-view.fixture.ts'
import { endpointPoolContract } from './endpoint-pool.contract.ts'
import type { Seat } from './endpoint-pool.ts'
import { codeOf, never, setUp, settled } from './pod-pool.fixture.ts'

endpointPoolContract('PodPool', (options) => {
  const stage = setUp(options)
  return { ...stage, owner: stage.pool, informed: () => Promise.resolve() }
})

describe('PodPool with endpoints', () => {
  it('sends nothing to a Pod that only wears the label of the model, or was made for another of its name', async () => {
    const { models, pods, pool } = setUp()
    pods.put(fakePod('stranger', { modelUid: '' }))
    pods.put(fakePod('of-the-last-one', { modelUid: 'uid-of-one-before' }))
    pods.put({ ...fakePod('elsewhere'), metadata: { ...fakePod('elsewhere').metadata, namespace: 'default' } })
    const waiting = pool.reserve('tiny', {}, never)
    await settled()
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 1 })
    pods.put(fakePod('own'))
    expect((await waiting).endpoint).toBe('own')
    // The Model is deleted and made anew under its name: its former Pods are not the new one's.
    models.put({ ...fakeModel('tiny'), metadata: { ...fakeModel('tiny').metadata, uid: 'uid-of-the-next' } })
    expect(pool.openEndpoints('tiny')).toEqual([])
    pods.put(fakePod('next', { modelUid: 'uid-of-the-next' }))
    expect(pool.openEndpoints('tiny').map(({ name }) => name)).toEqual(['next'])
  })

  it('knows the Pods of a Model that is seen only after them', () => {
    const { models, pods, pool } = setUp()
    models.remove({ namespace: 'sluice', name: 'tiny' })
    pods.put(fakePod('own'))
    expect(pool.openEndpoints('tiny')).toEqual([])
    models.put(fakeModel('tiny'))
    expect(pool.openEndpoints('tiny').map(({ name }) => name)).toEqual(['own'])
  })

  it('knows the key that each engine was started with, and offers none whose key is not known yet', async () => {
    const { pods, secrets, pool } = setUp()
    pods.put(fakePod('one', { keyId: 'key-1' }))
    pods.put(fakePod('two', { keyId: 'key-2' }))
    expect(pool.openEndpoints('tiny')).toEqual([])
    secrets.put(fakeKeys('tiny', { 'key-1': 'a'.repeat(43), 'key-2': 'broken\r\nheader' }))
    expect(pool.openEndpoints('tiny').map(({ name, key }) => [name, key])).toEqual([['one', 'a'.repeat(43)]])
    secrets.put(fakeKeys('tiny', { 'key-1': 'a'.repeat(43), 'key-2': 'b'.repeat(43) }))
    const seats = await Promise.all([1, 2].map(() => pool.reserve('tiny', {}, never)))
    expect(new Set(seats.map(({ key }) => key))).toEqual(new Set(['a'.repeat(43), 'b'.repeat(43)]))
  })

  it('sees a Pod of the same name as another endpoint', async () => {
    const { pods, pool } = setUp()
    pods.put(fakePod('one', { uid: 'first' }))
    const old = await pool.reserve('tiny', {}, never)
    pods.remove({ namespace: 'sluice', name: 'one' })
    pods.put(fakePod('one', { uid: 'second', host: '127.64.0.2' }))
    old.release('failed')
    const seat = await pool.reserve('tiny', {}, never)
    expect(seat.address.host).toBe('127.64.0.2')
  })

  it('does not offer a failed endpoint until it answers its probe, whatever the cluster says of the Pod', async () => {
    const answers = [false, true]
    const { clock, pods, pool } = setUp({ probe: () => Promise.resolve(answers.shift() ?? false) })
    pods.put(fakePod('one'))
    const seat = await pool.reserve('tiny', {}, never)
    seat.release('failed')
    pods.put(fakePod('one'))
    const retry = pool.reserve('tiny', { exclude: new Set(['one']) }, never)
    await settled()
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 1 })
    await clock.advance(100)
    expect((await retry).endpoint).toBe('one')
    expect(answers).toEqual([])
  })

  it('does not let a request wait while the one that failed it is healthy again', async () => {
    const { pods, pool } = setUp({ probe: ({ port }) => Promise.resolve(port === 1) })
    pods.put(fakePod('one', { port: 1 }))
    pods.put(fakePod('two', { port: 2 }))
    const first = await pool.reserve('tiny', {}, never)
    first.release('failed')
    const second = await pool.reserve('tiny', { exclude: new Set(['one']) }, never)
    expect([first.endpoint, second.endpoint]).toEqual(['one', 'two'])
    await settled()
    second.release('failed')
    const third = await pool.reserve('tiny', { exclude: new Set(['one', 'two']) }, never)
    expect(third.endpoint).toBe('one')
  })

  it('probes over HTTP: an endpoint that answers /health again is used again', async () => {
    const server = http.createServer((request, response) =>
      response.writeHead(request.url === '/health' ? 200 : 404).end(),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const { pods, pool } = setUp({ probe: undefined as never })
    pods.put(fakePod('one', { host: '127.0.0.1', port }))
    const seat = await pool.reserve('tiny', {}, never)
    seat.release('failed')
    expect((await pool.reserve('tiny', {}, never)).endpoint).toBe('one')
  })
})

describe('PodPool without endpoints', () => {
  it('wakes a model once for a thousand requests, and serves all of them', async () => {
    const { pods, pool } = setUp()
    let wakes = 0
    pool.onFirstWaiter(() => wakes++)
    const waiting = Array.from({ length: 1_000 }, () => pool.reserve('tiny', {}, never))
    pods.put(fakePod('one'))
    const seats = await Promise.all(waiting)
    expect(wakes).toBe(1)
    expect(pool.sample('tiny')).toEqual({ active: 1_000, waiting: 0 })
    for (const seat of seats) seat.release()
    expect(pool.sample('tiny')).toEqual({ active: 0, waiting: 0 })
  })

  it('goes on serving when a listener throws', async () => {
    const { pods, pool } = setUp()
    const wakes: string[] = []
    pool.onFirstWaiter(() => {
      throw new Error('listener')
    })
    pool.onFirstWaiter((model) => wakes.push(model))
    const waiting = pool.reserve('tiny', {}, never)
    pods.put(fakePod('one'))
    expect((await waiting).endpoint).toBe('one')
    expect(wakes).toEqual(['tiny'])
  })

  it('forgets a client that left, at once', async () => {
    const { clock, pool } = setUp()
    const client = new AbortController()
    const waiting = codeOf(pool.reserve('tiny', {}, client.signal))
    client.abort(new Error('left'))
    expect(pool.sample('tiny')?.waiting).toBe(0)
    expect(await waiting).toBe('Error: left')
    expect(clock.pendingTimers).toBe(0)
  })

  it('fails waiters at once when the Model cannot start, and new requests too', async () => {
    const { models, pool } = setUp()
    const waiting = pool.reserve('tiny', {}, never).catch((error: unknown) => String(error))
    models.put(fakeModel('tiny', 'Failed', 'the engine VLLM is not on this machine'))
    expect(await waiting).toContain('cannot start: the engine VLLM is not on this machine')
    expect(await codeOf(pool.reserve('tiny', {}, never))).toBe('model_unavailable')
  })

  it('does not hold a verdict about an older version against the Model', async () => {
    const { models, pool } = setUp()
    const mended = fakeModel('tiny', 'Failed', 'wrong path')
    mended.metadata.generation = 2
    models.put({ ...mended, status: { ...mended.status, observedGeneration: 1 } })
    const waiting = codeOf(pool.reserve('tiny', {}, never))
    await settled()
    expect(pool.sample('tiny')?.waiting).toBe(1)
    pool.stop()
    expect(await waiting).toBe('stopping')
  })

  it('sends waiters of a deleted Model away and forgets it', async () => {
    const { models, pool } = setUp()
    const waiting = codeOf(pool.reserve('tiny', {}, never))
    models.remove({ namespace: 'sluice', name: 'tiny' })
    expect(await waiting).toBe('model_not_found')
    expect(pool.models()).toEqual([])
  })

  it('knows when a model was last asked for, and has no data before the cluster was seen', async () => {
    const { clock, pods, pool } = setUp()
    expect(pool.lastActiveAt('tiny')).toBeUndefined()
    pods.put(fakePod('one'))
    const seat = await pool.reserve('tiny', {}, never)
    await clock.advance(1_000)
    expect(pool.lastActiveAt('tiny')).toBe(clock.now())
    seat.release()
    const end = clock.now()
    await clock.advance(1_000)
    expect(pool.lastActiveAt('tiny')).toBe(end)
    pods.synced = false
    expect(pool.sample('tiny')).toBeUndefined()
  })

  it('counts waits, wakes and refusals', async () => {
    const metrics = new Metrics()
    const { clock, pods, pool } = setUp({ metrics, settings: { waitingRoomSize: 1 } })
    const waiting = pool.reserve('tiny', {}, never)
    await codeOf(pool.reserve('tiny', {}, never))
    await clock.advance(3_000)
    pods.put(fakePod('one'))
    await waiting
    const text = await metrics.text()
    expect(text).toContain('sluice_traffic_wakes_total{model="tiny"} 1')
    expect(text).toContain('sluice_traffic_refused_total{model="tiny",code="waiting_room_full"} 1')
    expect(text).toContain('sluice_traffic_active_requests{model="tiny"} 1')
    expect(text).toContain('sluice_traffic_wait_seconds_sum{model="tiny"} 3')
  })
})

describe('PodPool, whatever happens', () => {
  const podName = fc.constantFrom('a', 'b', 'c')
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('reserve' as const), exclude: fc.option(podName) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('release' as const), at: fc.nat(), failed: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('leave' as const), at: fc.nat() }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('pod' as const),
        name: podName,
        ready: fc.boolean(),
        draining: fc.boolean(),
        capacity: fc.nat(2),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('removePod' as const), name: podName }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('failModel' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(20_000) }) },
  )

  it('loses no waiter, keeps the bound, and counts every seat once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const bound = 4
        let probes = 0
        const { clock, pods, models, pool } = setUp({
          settings: { waitingRoomSize: bound, wakeDeadlineMs: 10_000 },
          probe: () => Promise.resolve(probes++ % 2 === 1),
        })
        const clients: AbortController[] = []
        const seats: Seat[] = []
        let outcomes = 0
        let admitted = 0
        let released = 0
        for (const one of steps) {
          switch (one.do) {
            case 'reserve': {
              const client = new AbortController()
              clients.push(client)
              const hint = one.exclude === null ? {} : { exclude: new Set([one.exclude]) }
              pool.reserve('tiny', hint, client.signal).then(
                (seat) => (seats.push(seat), outcomes++, admitted++),
                () => outcomes++,
              )
              break
            }
            case 'release': {
              const seat = seats[one.at % Math.max(seats.length, 1)]
              if (!seat) break
              seat.release(one.failed ? 'failed' : 'served')
              seat.release()
              seats.splice(seats.indexOf(seat), 1)
              released++
              break
            }
            case 'leave':
              clients[one.at % Math.max(clients.length, 1)]?.abort()
              break
            case 'pod':
              pods.put(fakePod(one.name, { ...one, uid: String(one.capacity) }))
              break
            case 'removePod':
              pods.remove({ namespace: 'sluice', name: one.name })
              break
            case 'failModel':
              models.put(fakeModel('tiny', 'Failed', 'broken'))
              models.put(fakeModel('tiny', 'Asleep'))
              break
            case 'pass':
              await clock.advance(one.ms)
              break
          }
          await settled()
          const { active, waiting } = pool.sample('tiny') ?? { active: -1, waiting: -1 }
          expect(waiting).toBeLessThanOrEqual(bound)
          expect(active).toBe(admitted - released)
          expect(outcomes + waiting).toBe(clients.length)
        }
        for (const seat of seats) seat.release()
        await clock.advance(10_000)
        expect(outcomes).toBe(clients.length)
        const inFlight = [...pool.inFlightByEndpoint('tiny').values()].reduce((sum, count) => sum + count, 0)
        expect(inFlight).toBe(pool.sample('tiny')?.active)
        pool.stop()
        expect(clock.pendingTimers).toBe(0)
      }),
      { numRuns: 150 },
    )
  })
})
