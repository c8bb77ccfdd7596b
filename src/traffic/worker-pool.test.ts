import { MessageChannel } from 'node:worker_threads'
import * as fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { fakeModel, fakePod } from './cluster-view.fixture.ts'
import type { Seat } from './endpoint-pool.ts'
import { LoadTable } from './load-table.ts'
import { codeOf, never, setUp } from './pod-pool.fixture.ts'
import { PoolForWorker } from './pool-for-worker.ts'
import type { TrafficSettings } from './traffic-settings.ts'
import { WorkerPool } from './worker-pool.ts'

/** A pool and its workers, each at the other end of a real channel. */
function setUpWorkers(options: { readonly workers?: number; readonly settings?: Partial<TrafficSettings> } = {}) {
  const { workers: count = 1, settings = {} } = options
  const loads = LoadTable.shared({ workers: count, epochMs: 0 })
  const owner = setUp({ loads, settings })
  const joined = Array.from({ length: count }, (_, index) => {
    const { port1, port2 } = new MessageChannel()
    const row = index + 1
    const link = new PoolForWorker({ pool: owner.pool, port: port1, row })
    const pool = new WorkerPool({
      port: port2,
      loads: new LoadTable(loads.shape),
      row,
      clock: owner.clock,
      wakeDeadlineMs: settings.wakeDeadlineMs ?? 600_000,
    })
    onTestFinished(() => link.close())
    return { link, pool }
  })
  const [worker, other] = joined
  if (!worker) throw new Error('there is a worker at least')
  return { ...owner, owner: owner.pool, loads, worker: worker.pool, link: worker.link, other: other?.pool, joined }
}

/** Lets messages through, both ways and back. */
async function delivered(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
}

async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; !holds(); turn++) {
    if (turn > 50_000) throw new Error(`never happened: ${holds.toString()}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('a pool that does not own the waiting rooms', () => {
  it('picks by itself what the owner offers, and what it takes counts everywhere', async () => {
    const { pods, owner, worker } = setUpWorkers()
    pods.put(fakePod('one'))
    pods.put(fakePod('two'))
    await delivered()
    const seats = await Promise.all([1, 2, 3, 4].map(() => worker.reserve('tiny', {}, never)))
    expect(seats.map(({ endpoint }) => endpoint)).toEqual(['one', 'two', 'one', 'two'])
    expect(seats[0]?.address).toEqual({ host: '127.64.0.1', port: 8000 })
    expect(owner.inFlightByEndpoint('tiny')).toEqual(new Map([['one', 2], ['two', 2]])) // prettier-ignore
    expect(owner.sample('tiny')).toEqual({ active: 4, waiting: 0 })
    for (const seat of seats) {
      seat.release()
      seat.release()
    }
    expect(owner.sample('tiny')).toEqual({ active: 0, waiting: 0 })
  })

  it('waits in the owner’s room for a model that sleeps, which wakes it once', async () => {
    const { pods, owner, worker } = setUpWorkers()
    const wakes: string[] = []
    owner.onFirstWaiter((model) => wakes.push(model))
    const waiting = [1, 2, 3].map(() => worker.reserve('tiny', {}, never))
    await until(() => owner.sample('tiny')?.waiting === 3)
    pods.put(fakePod('one'))
    const seats = await Promise.all(waiting)
    expect(seats.map(({ endpoint }) => endpoint)).toEqual(['one', 'one', 'one'])
    expect(wakes).toEqual(['tiny'])
    expect(owner.sample('tiny')).toEqual({ active: 3, waiting: 0 })
    for (const seat of seats) seat.release()
    expect(owner.sample('tiny')?.active).toBe(0)
  })

  it('refuses with the owner’s errors, details and status included', async () => {
    const { worker, models, clock } = setUpWorkers({ settings: { waitingRoomSize: 1, wakeDeadlineMs: 1_000 } })
    expect(await codeOf(worker.reserve('nothing', {}, never))).toBe('model_not_found')
    models.put(fakeModel('broken', 'Failed', 'its file is missing'))
    await expect(worker.reserve('broken', {}, never)).rejects.toMatchObject({
      code: 'model_unavailable',
      status: 503,
      details: { model: 'broken', reason: 'its file is missing' },
    })
    const first = codeOf(worker.reserve('tiny', {}, never))
    await delivered()
    await expect(worker.reserve('tiny', {}, never)).rejects.toMatchObject({
      code: 'waiting_room_full',
      status: 429,
      details: { retryAfterSeconds: 5 },
    })
    await clock.advance(1_000)
    expect(await first).toBe('wake_deadline')
  })

  it('gives up when the owner does not answer at all', async () => {
    const { port2 } = new MessageChannel()
    onTestFinished(() => port2.close())
    const clock = new FakeClock()
    const loads = LoadTable.shared({ workers: 1, epochMs: 0 })
    const pool = new WorkerPool({ port: port2, loads, row: 1, clock, wakeDeadlineMs: 1_000 })
    const asked = codeOf(pool.reserve('tiny', {}, never))
    await clock.advance(6_000)
    expect(await asked).toBe('wake_deadline')
    expect(pool.waiting).toBe(0)
  })

  it('leaves the room with its client, and gives a seat back that was on its way', async () => {
    const { pods, owner, worker } = setUpWorkers()
    const first = new AbortController()
    const left = codeOf(worker.reserve('tiny', {}, first.signal))
    await until(() => owner.sample('tiny')?.waiting === 1)
    first.abort(new Error('gone'))
    expect(await left).toBe('Error: gone')
    await until(() => owner.sample('tiny')?.waiting === 0)

    const late = new AbortController()
    const crossing = codeOf(worker.reserve('tiny', {}, late.signal))
    await until(() => owner.sample('tiny')?.waiting === 1)
    pods.put(fakePod('one'))
    late.abort(new Error('gone'))
    expect(await crossing).toBe('Error: gone')
    expect(owner.sample('tiny')?.active).toBe(1)
    await until(() => owner.sample('tiny')?.active === 0)
  })

  it('admits the next in the room when a request of another worker leaves', async () => {
    const { pods, owner, worker, other } = setUpWorkers({ workers: 2 })
    pods.put(fakePod('one', { capacity: 1 }))
    await delivered()
    const seat = await worker.reserve('tiny', {}, never)
    const order: string[] = []
    const next = (name: string, pool: WorkerPool | undefined) =>
      pool?.reserve('tiny', {}, never).then((got) => {
        order.push(name)
        return got
      })
    const second = next('second', other)
    await until(() => owner.sample('tiny')?.waiting === 1)
    const third = next('third', worker)
    await until(() => owner.sample('tiny')?.waiting === 2)
    seat.release()
    // Somebody waits, so who comes now does not get ahead of them.
    const fourth = next('fourth', worker)
    ;(await second)?.release()
    ;(await third)?.release()
    ;(await fourth)?.release()
    expect(order).toEqual(['second', 'third', 'fourth'])
    expect(owner.sample('tiny')).toEqual({ active: 0, waiting: 0 })
  })

  it('closes an endpoint that failed for itself at once, and for everybody with the owner', async () => {
    const { pods, owner, worker, other } = setUpWorkers({ workers: 2 })
    pods.put(fakePod('one'))
    pods.put(fakePod('two'))
    await delivered()
    const seat = await worker.reserve('tiny', {}, never)
    expect(seat.endpoint).toBe('one')
    seat.release('failed')
    expect((await worker.reserve('tiny', {}, never)).endpoint).toBe('two')
    await until(() => owner.openEndpoints('tiny').length === 1)
    for (let turn = 0; turn < 2; turn++) expect((await other?.reserve('tiny', {}, never))?.endpoint).toBe('two')
  })

  it('takes nothing at an endpoint that leaves, though it has not heard of that yet', async () => {
    const { pods, owner, worker } = setUpWorkers()
    pods.put(fakePod('one'))
    await delivered()
    pods.put(fakePod('one', { draining: true }))
    const asked = worker.reserve('tiny', {}, never)
    expect(owner.sample('tiny')?.active).toBe(0)
    await until(() => owner.sample('tiny')?.waiting === 1)
    pods.put(fakePod('two'))
    expect((await asked).endpoint).toBe('two')
    expect(owner.inFlightByEndpoint('tiny')).toEqual(new Map([['two', 1]]))
  })

  it('sends prompts that begin alike to the same endpoint', async () => {
    const { pods, worker } = setUpWorkers()
    for (const name of ['one', 'two', 'three']) pods.put(fakePod(name))
    await delivered()
    const picked = []
    for (let turn = 0; turn < 6; turn++) {
      const seat = await worker.reserve('tiny', { prefix: () => [1, 2, 3] }, never)
      picked.push(seat.endpoint)
      seat.release()
    }
    expect(new Set(picked).size).toBe(1)
  })

  it('takes its waiters and its counts with it when it is lost, and the others get the seats', async () => {
    const { pods, owner, worker, other, link } = setUpWorkers({ workers: 2 })
    pods.put(fakePod('one', { capacity: 1 }))
    await delivered()
    await worker.reserve('tiny', {}, never)
    const waiting = codeOf(worker.reserve('tiny', {}, never))
    await until(() => owner.sample('tiny')?.waiting === 1)
    const elsewhere = other?.reserve('tiny', {}, never)
    await until(() => owner.sample('tiny')?.waiting === 2)
    link.close()
    expect(await waiting).toBe('stopping')
    expect((await elsewhere)?.endpoint).toBe('one')
    expect(owner.sample('tiny')).toEqual({ active: 1, waiting: 0 })
  })

  it('has given every seat back in the end, whatever happened in which order', async () => {
    const step = fc.record({
      who: fc.nat({ max: 1 }),
      act: fc.constantFrom('reserve', 'reserve', 'release', 'fail', 'leave', 'ready', 'drain', 'turn'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { pods, owner, joined } = setUpWorkers({ workers: 2 })
        const seats: Seat[] = []
        const clients: AbortController[] = []
        const asked: Array<Promise<void>> = []
        for (const { who, act } of steps) {
          const client = new AbortController()
          if (act === 'reserve') {
            clients.push(client)
            const seat = joined[who]?.pool.reserve('tiny', {}, client.signal)
            asked.push(Promise.resolve(seat).then((got) => void (got && seats.push(got)), () => {})) // prettier-ignore
          }
          if (act === 'release') seats.pop()?.release()
          if (act === 'fail') seats.shift()?.release('failed')
          if (act === 'leave') clients.shift()?.abort(new Error('gone'))
          if (act === 'ready') pods.put(fakePod(`pod-${who}`, { capacity: 2, uid: `${asked.length}` }))
          if (act === 'drain') pods.put(fakePod(`pod-${who}`, { capacity: 2, uid: `${asked.length}`, draining: true }))
          if (act === 'turn') await delivered()
          for (const count of owner.inFlightByEndpoint('tiny').values()) expect(count).toBeGreaterThanOrEqual(0)
        }
        for (const client of clients) client.abort(new Error('gone'))
        await Promise.all(asked)
        for (const seat of seats) seat.release()
        await until(() => owner.sample('tiny')?.active === 0 && owner.sample('tiny')?.waiting === 0)
        owner.stop()
        for (const { link } of joined) link.close()
      }),
      { numRuns: 60 },
    )
  })
})
