import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LoadPlace, LoadTable } from './load-table.ts'

/** The table as three threads see it: its owner, and two over the same memory. */
function threeViews(slots = 4) {
  const owner = LoadTable.shared({ workers: 2, epochMs: 1_000, slots })
  return [owner, new LoadTable(owner.shape), new LoadTable(owner.shape)] as const
}

function claimOpen(table: LoadTable): LoadPlace {
  const place = table.claim()
  if (!place) throw new Error('no place left')
  table.open(place)
  return place
}

describe('the table of loads', () => {
  it('adds up what every thread counts', () => {
    const [owner, one, other] = threeViews()
    const place = claimOpen(owner)
    expect(one.take(place, 1, Infinity)).toBe(true)
    expect(other.take(place, 2, Infinity)).toBe(true)
    expect(owner.take(place, 0, Infinity)).toBe(true)
    expect([owner, one, other].map((table) => table.load(place.slot))).toEqual([3, 3, 3])
    one.release(place, 1)
    expect(owner.load(place.slot)).toBe(2)
  })

  it('takes no more than the capacity, over all threads', () => {
    const [owner, one, other] = threeViews()
    const place = claimOpen(owner)
    expect([one.take(place, 1, 2), other.take(place, 2, 2), one.take(place, 1, 2)]).toEqual([true, true, false])
    expect(owner.load(place.slot)).toBe(2)
  })

  it('takes nothing where the gate is shut, nor for an endpoint that was there before', () => {
    const [owner, one] = threeViews()
    const before = claimOpen(owner)
    owner.shut(before)
    expect(one.take(before, 1, Infinity)).toBe(false)
    owner.forget(before)
    const after = claimOpen(owner)
    expect(after.slot).toBe(before.slot)
    expect(one.take(before, 1, Infinity)).toBe(false)
    expect(one.take(after, 1, Infinity)).toBe(true)
    expect(owner.load(after.slot)).toBe(1)
  })

  it('loses with a thread only what that thread counted', () => {
    const [owner, one, other] = threeViews()
    const places = [claimOpen(owner), claimOpen(owner)]
    for (const place of places) {
      one.take(place, 1, Infinity)
      other.take(place, 2, Infinity)
    }
    owner.clearRow(1)
    expect(places.map(({ slot }) => owner.load(slot))).toEqual([1, 1])
  })

  it('says who leaves that somebody waits, or that the endpoint is on its way out', () => {
    const [owner, one] = threeViews()
    const place = claimOpen(owner)
    expect([one.isWanted(place), one.isWatched(place)]).toEqual([false, false])
    owner.want(place, true)
    expect([one.isWanted(place), one.isWatched(place)]).toEqual([true, true])
    owner.want(place, false)
    owner.shut(place)
    expect([one.isWanted(place), one.isWatched(place)]).toEqual([false, true])
  })

  it('knows when a thread last was active, a moment late rather than early', () => {
    const [owner, one] = threeViews()
    const place = claimOpen(owner)
    expect(owner.lastActiveAt(place)).toBeUndefined()
    one.markActive(place, 5_234)
    expect(owner.lastActiveAt(place)).toBe(5_300)
    owner.forget(place)
    expect(owner.lastActiveAt(claimOpen(owner))).toBeUndefined()
  })

  it('has no place for more endpoints than it has slots', () => {
    const table = LoadTable.shared({ workers: 0, epochMs: 0, slots: 2 })
    const places = [claimOpen(table), claimOpen(table)]
    expect(table.claim()).toBeUndefined()
    for (const place of places) table.forget(place)
    expect(table.claim()).toBeDefined()
  })

  it('is never negative and never above the capacity, and zero when everybody has left', () => {
    const step = fc.record({
      row: fc.integer({ min: 0, max: 2 }),
      place: fc.nat({ max: 3 }),
      act: fc.constantFrom('take', 'take', 'release', 'lose', 'shut', 'open'),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const views = threeViews()
        const [owner] = views
        const places = Array.from({ length: 4 }, () => claimOpen(owner))
        // Of each row, the places it has taken and not left.
        const held: LoadPlace[][] = [[], [], []]
        for (const { row, place: index, act } of steps) {
          const place = places[index] ?? claimOpen(owner)
          const mine = held[row] ?? []
          if (act === 'take' && (views[row] ?? owner).take(place, row, 5)) mine.push(place)
          if (act === 'release') {
            const left = mine.pop()
            if (left) (views[row] ?? owner).release(left, row)
          }
          if (act === 'lose') {
            owner.clearRow(row)
            mine.length = 0
          }
          if (act === 'shut') owner.shut(place)
          if (act === 'open') owner.open(place)
          for (const { slot } of places) {
            const counted = held.flat().filter((one) => one.slot === slot).length
            expect(owner.load(slot)).toBe(counted)
            expect(counted).toBeLessThanOrEqual(5)
          }
        }
        for (const [row, mine] of held.entries()) for (const place of mine) owner.release(place, row)
        expect(places.map(({ slot }) => owner.load(slot))).toEqual([0, 0, 0, 0])
      }),
    )
  })
})
