import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DemandFrame, ToldModel } from './demand-frame.ts'
import { JoinedDemand } from './joined-demand.ts'

const at = Date.UTC(2030, 0, 1)
const told = (active: number, waiting: number, more: Partial<ToldModel> = {}): ToldModel => ({
  active,
  waiting,
  idleMs: active + waiting > 0 ? 0 : null,
  pods: {},
  ...more,
})
const frame = (models: Record<string, ToldModel>, more: Partial<DemandFrame> = {}): DemandFrame => ({
  known: true,
  whole: true,
  models,
  gone: [],
  ...more,
})

function setUp(...gateways: readonly string[]) {
  const demand = new JoinedDemand(() => at)
  demand.expect(gateways, true)
  return demand
}

describe('JoinedDemand', () => {
  it('knows nothing before it knows which gateways there are', () => {
    expect(new JoinedDemand(() => at).sample('m')).toBeUndefined()
  })

  it('adds up what all gateways tell', () => {
    const demand = setUp('a', 'b')
    demand.hear('a', frame({ m: told(2, 1) }))
    demand.hear('b', frame({ m: told(3, 0), other: told(1, 0) }))
    expect(demand.sample('m')).toEqual({ active: 5, waiting: 1, isPartial: false })
    expect(demand.sample('unknown')).toEqual({ active: 0, waiting: 0, isPartial: false })
  })

  it('is partial while a gateway is not heard, lost, or has not seen the cluster', () => {
    const demand = setUp('a', 'b')
    demand.hear('a', frame({ m: told(2, 0) }))
    expect(demand.sample('m')).toEqual({ active: 2, waiting: 0, isPartial: true })
    demand.hear('b', frame({}, { known: false }))
    expect(demand.sample('m')?.isPartial).toBe(true)
    demand.hear('b', frame({}))
    expect(demand.sample('m')?.isPartial).toBe(false)
    demand.lose('a')
    expect(demand.sample('m')).toEqual({ active: 2, waiting: 0, isPartial: true })
  })

  it('forgets a gateway that is gone, with its requests', () => {
    const demand = setUp('a', 'b')
    demand.hear('a', frame({ m: told(2, 0) }))
    demand.hear('b', frame({ m: told(1, 0) }))
    demand.expect(['a'], true)
    expect(demand.sample('m')).toEqual({ active: 2, waiting: 0, isPartial: false })
    demand.hear('b', frame({ m: told(9, 0) }))
    expect(demand.sample('m')?.active).toBe(2)
  })

  it('is partial while nobody can reach any gateway, but not for ever', () => {
    let now = at
    const demand = new JoinedDemand(() => now)
    demand.expect(['a'], false)
    demand.hear('a', frame({ m: told(1, 0) }))
    const expected = { active: 1, waiting: 0 }
    expect(demand.sample('m')).toEqual({ ...expected, isPartial: true })
    demand.expect(['a'], true)
    expect(demand.sample('m')).toEqual({ ...expected, isPartial: false })
    demand.expect(['a'], false)
    now += 599_000
    demand.expect(['a'], false)
    expect(demand.sample('m')?.isPartial).toBe(true)
    now += 1_000
    expect(demand.sample('m')?.isPartial).toBe(false)
  })

  it('is whole where there is no gateway', () => {
    const demand = new JoinedDemand(() => at)
    demand.expect([], false)
    expect(demand.sample('m')).toEqual({ active: 0, waiting: 0, isPartial: false })
  })

  it('announces the first waiter of each gateway once', () => {
    const demand = setUp('a', 'b')
    const heard: string[] = []
    const stop = demand.onFirstWaiter((model) => heard.push(model))
    demand.hear('a', frame({ m: told(0, 1) }))
    demand.hear('a', frame({ m: told(0, 2) }, { whole: false }))
    demand.hear('b', frame({ m: told(0, 1) }))
    expect(heard).toEqual(['m', 'm'])
    stop()
    demand.hear('b', frame({ n: told(0, 1) }, { whole: false }))
    expect(heard).toHaveLength(2)
  })

  it('says when a model was last asked, by its own clock', () => {
    const demand = setUp('a', 'b')
    expect(demand.lastActiveAt('m')).toBeUndefined()
    demand.hear('a', frame({ m: told(0, 0, { idleMs: 9_000 }) }))
    demand.hear('b', frame({ m: told(0, 0, { idleMs: 4_000 }) }))
    expect(demand.lastActiveAt('m')).toBe(at - 4_000)
    demand.hear('b', frame({ m: told(1, 0) }))
    expect(demand.lastActiveAt('m')).toBe(at)
  })

  it('calls a Pod free only when every gateway has stopped sending it requests and none is left', () => {
    const demand = setUp('a', 'b')
    const pods = (requests: number, open: boolean) => ({ pods: { p: { requests, open } } })
    demand.hear('a', frame({ m: told(0, 0, pods(0, true)) }))
    demand.hear('b', frame({ m: told(2, 0, pods(2, true)) }))
    expect(demand.busy('m', 'p')).toBeUndefined()
    demand.hear('a', frame({ m: told(0, 0, pods(0, false)) }))
    expect(demand.busy('m', 'p')).toBeUndefined()
    demand.hear('b', frame({ m: told(2, 0, pods(2, false)) }))
    expect(demand.busy('m', 'p')).toBe(2)
    demand.hear('b', frame({ m: told(0, 0) }))
    expect(demand.busy('m', 'p')).toBe(0)
    demand.lose('a')
    expect(demand.busy('m', 'p')).toBeUndefined()
  })

  it('is never less than what the gateways that are heard tell, in whatever order frames come', () => {
    const gateway = fc.constantFrom('a', 'b', 'c')
    const step = fc.oneof(
      fc.record({ gateway, active: fc.nat(5), waiting: fc.nat(5) }),
      fc.record({ gateway, lost: fc.constant(true) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const demand = setUp('a', 'b', 'c')
        const state = new Map<string, { known: boolean; active: number; waiting: number }>()
        for (const one of steps) {
          const before = state.get(one.gateway) ?? { known: false, active: 0, waiting: 0 }
          if ('lost' in one) {
            demand.lose(one.gateway)
            state.set(one.gateway, { ...before, known: false })
          } else {
            demand.hear(one.gateway, frame({ m: told(one.active, one.waiting) }))
            state.set(one.gateway, { known: true, active: one.active, waiting: one.waiting })
          }
        }
        const all = [...state.values()]
        expect(demand.sample('m')).toEqual({
          active: all.reduce((sum, { active }) => sum + active, 0),
          waiting: all.reduce((sum, { waiting }) => sum + waiting, 0),
          isPartial: all.filter(({ known }) => known).length < 3,
        })
      }),
    )
  })
})
