import { describe, expect, it } from 'vitest'
import { FairQueue } from './fair-queue.ts'
import { LevelQueue } from './level-queue.ts'
import type { PriorityLevel } from './priority-levels.ts'

const anybody = () => true

/** The same sequence of numbers in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** The max-min fair share of each demand: nobody can get more without taking from somebody who has less. */
function maxMinShares(demands: readonly number[], total: number): number[] {
  const shares = demands.map(() => 0)
  let left = total
  let open = demands.map((_, index) => index)
  while (open.length > 0 && left > 1e-9) {
    const each = left / open.length
    for (const index of open) {
      const more = Math.min(each, (demands[index] ?? 0) - (shares[index] ?? 0))
      shares[index] = (shares[index] ?? 0) + more
      left -= more
    }
    open = open.filter((index) => (demands[index] ?? 0) - (shares[index] ?? 0) > 1e-9)
  }
  return shares
}

describe('a fair queue', () => {
  it('gives every flow its max-min share of what was used, whatever they want and whatever it costs', () => {
    const largest = 10
    for (let seed = 1; seed <= 100; seed++) {
      const random = randomNumbers(seed)
      const queue = new FairQueue<number>()
      const flows = 2 + Math.floor(random() * 8)
      const demands = Array.from({ length: flows }, (_, flow) => {
        let demand = 0
        for (let count = Math.ceil(random() * 200); count > 0; count--) {
          const cost = 0.1 + random() * (largest - 0.1)
          queue.add(String(flow), cost)
          demand += cost
        }
        return demand
      })
      const total = random() * demands.reduce((sum, demand) => sum + demand, 0)
      const used = demands.map(() => 0)
      for (let spent = 0; spent < total;) {
        const next = queue.next(anybody)
        if (!next) break
        queue.charge(next.flow, next.item)
        used[Number(next.flow)] = (used[Number(next.flow)] ?? 0) + next.item
        spent += next.item
      }
      const shares = maxMinShares(demands, total)
      for (const [flow, share] of shares.entries()) {
        expect(Math.abs((used[flow] ?? 0) - share), `flow ${flow} of seed ${seed}`).toBeLessThanOrEqual(2 * largest)
      }
    }
  })

  it('serves who comes rarely at once, however much another has waiting', () => {
    const queue = new FairQueue<string>()
    for (let index = 0; index < 1_000; index++) queue.add('flood', 'flood')
    for (let round = 0; round < 100; round++) {
      queue.add('rare', 'rare')
      let before = 0
      for (let next = queue.next(anybody); next && next.item !== 'rare'; next = queue.next(anybody)) {
        queue.charge(next.flow, 1)
        before++
      }
      queue.charge('rare', 1)
      expect(before).toBeLessThanOrEqual(2)
    }
  })

  it('lets nobody save up by being away', () => {
    const queue = new FairQueue<string>()
    for (let index = 0; index < 100; index++) queue.add('busy', 'busy')
    for (let index = 0; index < 50; index++) queue.charge(queue.next(anybody)?.flow ?? '', 1)
    for (let index = 0; index < 100; index++) queue.add('late', 'late')
    const served = Array.from({ length: 20 }, () => {
      const next = queue.next(anybody)
      queue.charge(next?.flow ?? '', 1)
      return next?.flow
    })
    expect(served.filter((flow) => flow === 'busy').length).toBeGreaterThanOrEqual(9)
  })

  it('counts what a flow used without waiting', () => {
    const queue = new FairQueue<string>()
    queue.add('other', 'first')
    queue.charge('much', 100)
    queue.add('much', 'later')
    queue.add('other', 'second')
    const order = ['', '', ''].map(() => {
      const next = queue.next(anybody)
      queue.charge(next?.flow ?? '', 1)
      return next?.item
    })
    expect(order).toEqual(['first', 'second', 'later'])
  })

  it('lets nothing stand behind what waits for something else than its turn, and lets both lines take turns', () => {
    const queue = new FairQueue<string>()
    for (const write of ['write 1', 'write 2']) queue.add('a', write, { apart: true })
    for (const read of ['read 1', 'read 2', 'read 3']) queue.add('a', read)
    const takeWhile = (mayGo: (flow: string, item: string) => boolean) => queue.next(mayGo)?.item
    expect(takeWhile((_, item) => item.startsWith('read'))).toBe('read 1')
    expect([takeWhile(anybody), takeWhile(anybody)]).toEqual(['write 1', 'read 2'])
    expect(queue.remove('a', 'write 2')).toBe(true)
    expect([takeWhile(anybody), takeWhile(anybody)]).toEqual(['read 3', undefined])
    expect(queue.size).toBe(0)
  })

  it('passes over who cannot go, and takes out who will not', () => {
    const queue = new FairQueue<string>()
    queue.add('a', 'blocked')
    queue.add('b', 'free')
    queue.add('a', 'given up')
    queue.add('a', 'urgent', { first: true })
    expect(queue.remove('a', 'given up')).toBe(true)
    expect(queue.remove('a', 'given up')).toBe(false)
    expect(queue.next((flow) => flow !== 'a')?.item).toBe('free')
    expect(queue.next((flow) => flow !== 'a')).toBeUndefined()
    expect(queue.next(anybody)?.item).toBe('urgent')
    expect(queue).toMatchObject({ size: 1 })
  })
})

describe('levels', () => {
  const levels: readonly PriorityLevel[] = [
    { name: 'admin', weight: 30, writes: 1 },
    { name: 'workload', weight: 10, writes: 1 },
  ]

  it('share by their weight, however many flows each has', () => {
    const queue = new LevelQueue<'admin' | 'workload'>(levels)
    for (let index = 0; index < 1_000; index++) {
      queue.add({ level: 'admin', flow: 'one' }, 'admin')
      queue.add({ level: 'workload', flow: `flow ${index % 50}` }, 'workload')
    }
    const served = { admin: 0, workload: 0 }
    for (let count = 0; count < 400; count++) {
      const level = queue.next(anybody)
      if (!level) break
      queue.charge({ level, flow: level === 'admin' ? 'one' : `flow ${served.workload % 50}` }, 1)
      served[level]++
    }
    expect(served.admin).toBeGreaterThan(290)
    expect(served.admin).toBeLessThan(310)
    expect(queue).toMatchObject({ size: 1_600 })
  })
})
