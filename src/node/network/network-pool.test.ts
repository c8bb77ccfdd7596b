import { beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { NetworkPool } from './network-pool.ts'

describe('networks made ahead', () => {
  let clock: FakeClock
  let made: number[][]
  let removed: number[][]
  let failure: Error | undefined
  /** Nothing is made until this resolves. */
  let hold: Promise<void>
  const open = (spares: number, end = 1_000) =>
    new NetworkPool({
      first: 2,
      end,
      spares,
      clock,
      log: silentLogger,
      async make(numbers) {
        await hold
        if (failure) throw failure
        made.push([...numbers])
      },
      async remove(numbers) {
        await hold
        removed.push([...numbers])
      },
    })
  beforeEach(() => {
    clock = new FakeClock()
    made = []
    removed = []
    failure = undefined
    hold = Promise.resolve()
  })

  it('are given out at once, and replaced a little later, when whoever took them is under way', async () => {
    const pool = open(2)
    await pool.fill()
    const taken = await pool.take()
    expect(made).toEqual([[taken]])
    await clock.advance(200)
    expect(made[1]).toHaveLength(2)
    expect(pool.next).toBe(made[1]?.[0])
  })

  it('are made many at a time when many are asked for', async () => {
    const pool = open(0)
    const taken = await Promise.all(Array.from({ length: 100 }, () => pool.take()))
    expect(new Set(taken).size).toBe(100)
    // The first is made alone; those asked for meanwhile are made together.
    expect(made.map((numbers) => numbers.length)).toEqual([1, 16, 16, 16, 16, 16, 16, 3])
  })

  it('tell when the next one is known', async () => {
    const pool = open(2)
    const told: Array<number | undefined> = []
    const stop = pool.onNext(() => told.push(pool.next))
    await pool.fill()
    const first = await pool.take()
    await clock.advance(200)
    await pool.take()
    expect(told).toEqual([first, ...(made[1] ?? [])])
    stop()
    await clock.advance(200)
    expect(told).toHaveLength(3)
  })

  it('are refused to those they could not be made for, and made when they are asked for again', async () => {
    const pool = open(0)
    failure = new Error('not permitted')
    const asked = await Promise.allSettled([pool.take(), pool.take()])
    expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    failure = undefined
    await expect(pool.take()).resolves.toBeTypeOf('number')
  })

  it('are removed together, and their numbers are not used before that', async () => {
    const pool = open(0, 4)
    const taken = [await pool.take(), await pool.take()]
    await expect(pool.take()).rejects.toThrow('every address')
    let release = () => {}
    hold = new Promise((resolve) => (release = resolve))
    for (const number of taken) pool.remove([number])
    await expect(pool.take()).rejects.toThrow('every address')
    release()
    await pool.removed()
    expect(new Set(removed.flat())).toEqual(new Set(taken))
    expect(taken).toContain(await pool.take())
  })

  it('leave nothing and nobody waiting when they are closed', async () => {
    const pool = open(2)
    await pool.fill()
    const spare = pool.next
    let release = () => {}
    hold = new Promise((resolve) => (release = resolve))
    await pool.take().then((number) => pool.giveBack(number))
    const waiting = [pool.take(), pool.take(), pool.take()]
    const settled = Promise.allSettled(waiting)
    const closed = pool.close()
    release()
    await closed
    expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    // Networks that were being made when it was closed.
    expect(removed.flat()).toEqual(made.slice(1).flat())
    expect(removed.flat()).not.toContain(spare)
    await expect(pool.take()).rejects.toThrow('no more networks')
  })
})
