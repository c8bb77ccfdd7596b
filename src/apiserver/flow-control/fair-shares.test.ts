import { describe, expect, it } from 'vitest'
import { FairShares } from './fair-shares.ts'

describe('shares of something bounded', () => {
  it('leave as much free as a flow holds, so that the next finds some', () => {
    const shares = new FairShares(1_000)
    const takeAll = (flow: string) => {
      let taken = 0
      while (shares.take(flow)) taken++
      return taken
    }
    expect(takeAll('first')).toBe(500)
    expect(takeAll('second')).toBe(250)
    for (let flow = 0; flow < 6; flow++) expect(takeAll(`flow ${flow}`)).toBeGreaterThan(0)
  })

  it('come back whole', () => {
    const shares = new FairShares(10)
    shares.take('a', 3)
    shares.take('b', 2)
    shares.giveBack('a', 3)
    shares.giveBack('b', 2)
    expect(shares).toMatchObject({ free: 10 })
    expect([shares.heldBy('a'), shares.heldBy('b')]).toEqual([0, 0])
  })

  it('give who holds nothing all that is free, and nobody more than there is', () => {
    const shares = new FairShares(10)
    expect(shares.take('a', 11)).toBe(false)
    expect(shares.take('a', 10)).toBe(true)
    expect(shares.take('b', 1)).toBe(false)
  })
})
