import { describe, expect, it } from 'vitest'
import type { FakeClock } from '../foundation/fake-clock.ts'
import type { Model } from '../resources/model.ts'
import type { Pod } from '../resources/pod.ts'
import type { Secret } from '../resources/secret.ts'
import { type FakeCache, fakeKeys, fakeModel, fakePod } from './cluster-view.fixture.ts'
import type { EndpointPool, Seat } from './endpoint-pool.ts'
import { codeOf, never, settled, until } from './pod-pool.fixture.ts'
import type { PodPool, PodPoolOptions } from './pod-pool.ts'

/** A pool over a cluster that the test fills by hand: it has the Model tiny, which sleeps. */
export interface EndpointPoolStage {
  /** The pool that is tested. */
  readonly pool: EndpointPool
  /** The PodPool behind it, or itself: it has the waiting rooms, and counts for all threads. */
  readonly owner: PodPool
  readonly pods: FakeCache<Pod>
  readonly models: FakeCache<Model>
  readonly secrets: FakeCache<Secret>
  readonly clock: FakeClock
  /** Resolves when the pool knows what the owner knows. */
  informed(): Promise<void>
}

export type OpenPool = (options?: Pick<PodPoolOptions, 'probe' | 'settings'>) => EndpointPoolStage

/** What the gateway relies on, whichever thread it runs in. */
export function endpointPoolContract(name: string, open: OpenPool): void {
  describe(`${name} as EndpointPool`, () => {
    it('spreads requests over the endpoints, and frees a seat once, however often it is released', async () => {
      const { pool, owner, pods, informed } = open()
      pods.put(fakePod('one'))
      pods.put(fakePod('two'))
      await informed()
      const seats = await reserveAll(pool, 4)
      expect(seats.map(({ endpoint }) => endpoint).sort()).toEqual(['one', 'one', 'two', 'two'])
      expect(seats[0]?.address).toEqual({ host: '127.64.0.1', port: 8000 })
      expect(owner.inFlightByEndpoint('tiny')).toEqual(new Map([['one', 2], ['two', 2]])) // prettier-ignore
      seats[0]?.release()
      seats[0]?.release('failed')
      expect(owner.sample('tiny')).toEqual({ active: 3, waiting: 0 })
      expect((await pool.reserve('tiny', {}, never)).endpoint).toBe(seats[0]?.endpoint)
    })

    it('has a seat at once only where an endpoint is awake and not full', async () => {
      const { pool, pods, informed } = open()
      expect(pool.trySeat('tiny', {})).toBeUndefined()
      pods.put(fakePod('one', { capacity: 1 }))
      await informed()
      const seat = pool.trySeat('tiny', {})
      expect(seat?.endpoint).toBe('one')
      expect(pool.trySeat('tiny', {})).toBeUndefined()
      expect(pool.trySeat('nothing', {})).toBeUndefined()
      seat?.release()
      expect(pool.trySeat('tiny', {})?.endpoint).toBe('one')
    })

    it('wakes a model once for everybody who waits, and lets them go in the order they came', async () => {
      const { pool, owner, pods } = open()
      const wakes: string[] = []
      owner.onFirstWaiter((model) => wakes.push(model))
      const order: number[] = []
      const waiting = [1, 2, 3].map(async (turn) => {
        const seat = await pool.reserve('tiny', {}, never)
        order.push(turn)
        return seat
      })
      await until(() => owner.sample('tiny')?.waiting === 3)
      pods.put(fakePod('one', { ready: false }))
      pods.put(fakePod('one'))
      const seats = await Promise.all(waiting)
      expect(order).toEqual([1, 2, 3])
      expect(wakes).toEqual(['tiny'])
      expect(owner.sample('tiny')).toEqual({ active: 3, waiting: 0 })
      for (const seat of seats) seat.release()
      expect(owner.sample('tiny')?.active).toBe(0)
    })

    it('never has more at an endpoint than it takes, and lets nobody pass those who wait', async () => {
      const { pool, owner, pods, informed } = open()
      pods.put(fakePod('one', { capacity: 1 }))
      await informed()
      const first = await pool.reserve('tiny', {}, never)
      const order: string[] = []
      const next = async (who: string) => {
        const seat = await pool.reserve('tiny', {}, never)
        order.push(who)
        expect(owner.sample('tiny')?.active).toBe(1)
        seat.release()
      }
      const second = next('second')
      await until(() => owner.sample('tiny')?.waiting === 1)
      const third = next('third')
      await until(() => owner.sample('tiny')?.waiting === 2)
      first.release()
      await Promise.all([second, third, next('fourth')])
      expect(order).toEqual(['second', 'third', 'fourth'])
      expect(owner.sample('tiny')).toEqual({ active: 0, waiting: 0 })
    })

    it('says why there is no seat', async () => {
      const { pool, models, owner, clock } = open({
        settings: { waitingRoomSize: 1, retryAfterSeconds: 7, wakeDeadlineMs: 30_000 },
      })
      expect(await codeOf(pool.reserve('nothing', {}, never))).toBe('model_not_found')
      models.put(fakeModel('broken', 'Failed', 'its file is missing'))
      await expect(pool.reserve('broken', {}, never)).rejects.toMatchObject({
        code: 'model_unavailable',
        status: 503,
        details: { model: 'broken', reason: 'its file is missing' },
      })
      const first = pool.reserve('tiny', {}, never).catch((error: unknown) => String(error))
      await until(() => owner.sample('tiny')?.waiting === 1)
      await expect(pool.reserve('tiny', {}, never)).rejects.toMatchObject({
        code: 'waiting_room_full',
        status: 429,
        details: { retryAfterSeconds: 7 },
      })
      models.put(fakeModel('tiny', 'Waking', 'no card is free'))
      await clock.advance(29_999)
      expect(owner.sample('tiny')?.waiting).toBe(1)
      await clock.advance(1)
      expect(await first).toContain('did not wake within 30 s: no card is free')
    })

    it('sends away who waits when it stops', async () => {
      const { pool, owner } = open()
      const waiting = codeOf(pool.reserve('tiny', {}, never))
      await until(() => owner.sample('tiny')?.waiting === 1)
      owner.stop()
      expect(await waiting).toBe('stopping')
      expect(await codeOf(pool.reserve('tiny', {}, never))).toBe('stopping')
    })

    it('lets a client that leaves leave the room, too', async () => {
      const { pool, owner } = open()
      expect(await codeOf(pool.reserve('tiny', {}, AbortSignal.abort(new Error('gone before'))))).toBe(
        'Error: gone before',
      )
      const client = new AbortController()
      const waiting = codeOf(pool.reserve('tiny', {}, client.signal))
      await until(() => owner.sample('tiny')?.waiting === 1)
      client.abort(new Error('gone'))
      expect(await waiting).toBe('Error: gone')
      await until(() => owner.sample('tiny')?.waiting === 0)
    })

    it('gives nothing new to a Pod that drains, and still counts what it has', async () => {
      const { pool, owner, pods, informed } = open()
      pods.put(fakePod('one'))
      await informed()
      await pool.reserve('tiny', {}, never)
      pods.put(fakePod('one', { draining: true }))
      const waiting = pool.reserve('tiny', {}, never)
      await until(() => owner.sample('tiny')?.waiting === 1)
      expect(owner.inFlightByEndpoint('tiny')).toEqual(new Map([['one', 1]]))
      pods.put(fakePod('one'))
      expect((await waiting).endpoint).toBe('one')
      expect(owner.inFlightByEndpoint('tiny')).toEqual(new Map([['one', 2]]))
    })

    it('gives nothing new to an endpoint that failed until a probe finds it healthy', async () => {
      let healthy = false
      const { pool, owner, pods, clock, informed } = open({ probe: () => Promise.resolve(healthy) })
      pods.put(fakePod('one'))
      await informed()
      const seat = await pool.reserve('tiny', {}, never)
      seat.release('failed')
      const retry = pool.reserve('tiny', { exclude: new Set(['one']) }, never)
      await until(() => owner.sample('tiny')?.waiting === 1)
      await settled()
      expect(owner.sample('tiny')).toEqual({ active: 0, waiting: 1 })
      healthy = true
      await clock.advance(100)
      expect((await retry).endpoint).toBe('one')
    })

    it('goes on to another endpoint with the failed one excluded', async () => {
      const { pool, pods, informed } = open()
      pods.put(fakePod('one'))
      pods.put(fakePod('two'))
      await informed()
      const first = await pool.reserve('tiny', {}, never)
      const second = await pool.reserve('tiny', { exclude: new Set([first.endpoint]) }, never)
      expect(second.endpoint).not.toBe(first.endpoint)
      first.release('failed')
      expect((await pool.reserve('tiny', {}, never)).endpoint).toBe(second.endpoint)
    })

    it('sends prompts that begin alike to the same endpoint', async () => {
      const { pool, pods, informed } = open()
      for (const pod of ['one', 'two', 'three']) pods.put(fakePod(pod))
      await informed()
      const picked = new Set<string>()
      for (let turn = 0; turn < 6; turn++) {
        const seat = await pool.reserve('tiny', { prefix: () => [1, 2, 3] }, never)
        picked.add(seat.endpoint)
        seat.release()
      }
      expect(picked.size).toBe(1)
    })

    it('says with a seat which key the engine was started with', async () => {
      const { pool, pods, secrets, informed } = open()
      secrets.put(fakeKeys('tiny', { 'key-1': 'a'.repeat(43), 'key-2': 'b'.repeat(43) }))
      pods.put(fakePod('one', { keyId: 'key-1' }))
      pods.put(fakePod('two', { keyId: 'key-2' }))
      await informed()
      const seats = await reserveAll(pool, 2)
      expect(new Set(seats.map(({ key }) => key))).toEqual(new Set(['a'.repeat(43), 'b'.repeat(43)]))
    })
  })
}

function reserveAll(pool: EndpointPool, count: number): Promise<Seat[]> {
  return Promise.all(Array.from({ length: count }, () => pool.reserve('tiny', {}, never)))
}
