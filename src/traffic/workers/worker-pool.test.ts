import { MessageChannel } from 'node:worker_threads'
import * as fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { fakePod } from '../cluster-view.fixture.ts'
import { endpointPoolContract } from '../endpoint-pool.contract.ts'
import type { Seat } from '../endpoint-pool.ts'
import { LoadTable } from '../endpoints/load-table.ts'
import { codeOf, never, setUp, until } from '../pod-pool.fixture.ts'
import type { PodPoolOptions } from '../pod-pool.ts'
import { PoolForWorker } from './pool-for-worker.ts'
import { WorkerPool } from './worker-pool.ts'

type WorkersOptions = Pick<PodPoolOptions, 'probe' | 'settings'> & { readonly workers?: number }

/** A pool and its workers, each at the other end of a real channel. */
function setUpWorkers({ workers: count = 1, ...options }: WorkersOptions = {}) {
  const loads = LoadTable.shared({ workers: count, epochMs: 0 })
  const owner = setUp({ loads, ...options })
  const joined = Array.from({ length: count }, (_, index) => {
    const { port1, port2 } = new MessageChannel()
    const row = index + 1
    const link = new PoolForWorker({ pool: owner.pool, port: port1, row })
    const pool = new WorkerPool({
      port: port2,
      loads: new LoadTable(loads.shape),
      row,
      clock: owner.clock,
      wakeDeadlineMs: options.settings?.wakeDeadlineMs ?? 600_000,
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

endpointPoolContract('WorkerPool', (options) => {
  const { worker, ...stage } = setUpWorkers(options)
  return { ...stage, pool: worker, informed: delivered }
})

describe('a pool that does not own the waiting rooms', () => {
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
