import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { TurnClock } from './turn-clock.ts'

/** Each look is a millisecond later. */
class TickingClock extends FakeClock {
  #ticks = 0

  override now(): number {
    return super.now() + this.#ticks++
  }
}

describe('a clock that stands still', () => {
  it('tells one time to everybody who asks during an event, and moves on after it', () => {
    const clock = new TurnClock(new TickingClock(1_000))
    const seen: number[] = []
    clock.during(() => seen.push(clock.now(), clock.now()), undefined)
    expect(seen).toEqual([1_000, 1_000])
    expect(clock.now()).toBe(1_001)
  })

  it('moves on after an event that fails, and not after one within another', () => {
    const clock = new TurnClock(new TickingClock(2_000))
    const fail = () => {
      clock.during(() => {}, undefined)
      expect(clock.now()).toBe(2_000)
      throw new Error('no')
    }
    expect(() => clock.during(fail, undefined)).toThrow('no')
    expect(clock.now()).toBe(2_001)
  })

  it('holds nobody who asks another clock', async () => {
    const fake = new FakeClock(3_000)
    const [clock, other] = [new TurnClock(fake), new TurnClock(fake)]
    await fake.advance(5)
    clock.during(() => expect(other.now()).toBe(3_005), undefined)
  })
})
