import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DemandTeller, type ToldPool } from './demand-teller.ts'
import { encodeFrame, parseFrame } from './demand-frame.ts'
import { JoinedDemand } from './joined-demand.ts'

const at = Date.UTC(2030, 0, 1)

interface PoolModel {
  readonly active: number
  readonly waiting: number
  readonly lastActiveAt: number | undefined
  readonly open: readonly string[]
  readonly requests: Readonly<Record<string, number>>
}

class FakePool implements ToldPool {
  readonly content = new Map<string, PoolModel>()
  synced = true

  sample(name: string) {
    if (!this.synced) return undefined
    const { active = 0, waiting = 0 } = this.content.get(name) ?? {}
    return { active, waiting }
  }
  models() {
    return [...this.content.keys()]
  }
  lastActiveAt(name: string) {
    return this.content.get(name)?.lastActiveAt
  }
  inFlightByEndpoint(name: string) {
    return new Map(Object.entries(this.content.get(name)?.requests ?? {}))
  }
  openEndpoints(name: string) {
    return (this.content.get(name)?.open ?? []).map((pod) => ({ name: pod }))
  }
  onFirstWaiter() {
    return () => {}
  }
}

const idle: PoolModel = { active: 0, waiting: 0, lastActiveAt: undefined, open: [], requests: {} }

describe('DemandTeller', () => {
  it('tells everything first, and then what changed', () => {
    const pool = new FakePool()
    pool.content.set('m', { ...idle, active: 1, lastActiveAt: at, open: ['p'], requests: { p: 1, gone: 1 } })
    pool.content.set('n', { ...idle, lastActiveAt: at - 5_000 })
    const teller = new DemandTeller(pool, () => at)
    expect(teller.next()).toEqual({
      known: true,
      whole: true,
      models: {
        m: {
          active: 1,
          waiting: 0,
          idleMs: 0,
          pods: { gone: { requests: 1, open: false }, p: { requests: 1, open: true } },
        },
        n: { active: 0, waiting: 0, idleMs: 5_000, pods: {} },
      },
      gone: [],
    })
    expect(teller.next()).toEqual({ known: true, whole: false, models: {}, gone: [] })
    pool.content.delete('n')
    pool.content.set('m', { ...idle, waiting: 2, lastActiveAt: at })
    expect(teller.next()).toEqual({
      known: true,
      whole: false,
      models: { m: { active: 0, waiting: 2, idleMs: 0, pods: {} } },
      gone: ['n'],
    })
  })

  it('tells a request that came and went between two frames', () => {
    const pool = new FakePool()
    pool.content.set('m', { ...idle, lastActiveAt: at - 60_000 })
    const teller = new DemandTeller(pool, () => at)
    teller.next()
    pool.content.set('m', { ...idle, lastActiveAt: at - 100 })
    expect(teller.next().models['m']?.idleMs).toBe(100)
  })

  it('does not claim to know a cluster that it has not seen', () => {
    const pool = new FakePool()
    pool.synced = false
    expect(new DemandTeller(pool, () => at).next().known).toBe(false)
  })

  it('brings whoever listens to what the pool has, whatever happened before', () => {
    const model = fc.record({
      active: fc.nat(3),
      waiting: fc.nat(3),
      lastActiveAt: fc.option(
        fc.nat(10_000).map((ms) => at - ms),
        { nil: undefined },
      ),
      open: fc.subarray(['p', 'q']),
      requests: fc.dictionary(fc.constantFrom('p', 'q', 'r'), fc.nat(3)),
    })
    const states = fc.array(fc.dictionary(fc.constantFrom('m', 'n', '__proto__'), model), {
      minLength: 1,
      maxLength: 8,
    })
    fc.assert(
      fc.property(states, (content) => {
        const pool = new FakePool()
        const teller = new DemandTeller(pool, () => at)
        const heard = new JoinedDemand(() => at)
        heard.expect(['g'], true)
        for (const state of content) {
          pool.content.clear()
          for (const [name, one] of Object.entries(state)) pool.content.set(name, one)
          heard.hear('g', parseFrame(JSON.parse(encodeFrame(teller.next()))))
        }
        for (const name of ['m', 'n']) {
          const { active, waiting } = pool.sample(name) ?? { active: 0, waiting: 0 }
          expect(heard.sample(name)).toEqual({ active, waiting, isPartial: false })
          const isOpen = pool.openEndpoints(name).some((endpoint) => endpoint.name === 'p')
          expect(heard.busy(name, 'p')).toBe(isOpen ? undefined : (pool.inFlightByEndpoint(name).get('p') ?? 0))
        }
      }),
    )
  })
})
