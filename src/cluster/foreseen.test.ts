import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { Foreseen } from './foreseen.ts'

it('stands until it is settled, and cannot be taken back then', () => {
  const foreseen = new Foreseen<number>(new FakeClock())
  const undone: number[] = []
  const takeBack = foreseen.add('a', 1, () => undone.push(1))
  expect(foreseen.get('a')).toBe(1)
  expect(foreseen.settle('a')).toBe(1)
  takeBack()
  expect([foreseen.get('a'), undone]).toEqual([undefined, []])
})

it('is undone once when it is taken back', () => {
  const foreseen = new Foreseen<number>(new FakeClock())
  const undone: number[] = []
  const takeBack = foreseen.add('a', 1, () => undone.push(1))
  takeBack()
  takeBack()
  expect([foreseen.get('a'), undone]).toEqual([undefined, [1]])
})

it('is not undone for the sake of an older one of the same key, even of the same value', () => {
  const foreseen = new Foreseen<number>(new FakeClock())
  const undone: string[] = []
  const takeOlderBack = foreseen.add('a', 1, () => undone.push('older'))
  foreseen.add('a', 1, () => undone.push('newer'))
  takeOlderBack()
  expect([foreseen.get('a'), undone]).toEqual([1, []])
})

it('counts as taken back when nobody says in a minute what became of it', async () => {
  const clock = new FakeClock()
  const foreseen = new Foreseen<number>(clock)
  const undone: number[] = []
  foreseen.add('a', 1, () => undone.push(1))
  await clock.advance(59_000)
  expect(undone).toEqual([])
  await clock.advance(1000)
  expect([foreseen.get('a'), undone]).toEqual([undefined, [1]])
})

it('ends each thing that is foreseen in exactly one way, whatever happens in which order', async () => {
  const step = fc.oneof(
    fc.record({ does: fc.constant('foresee' as const), key: fc.constantFrom('a', 'b') }),
    fc.record({ does: fc.constant('settle' as const), key: fc.constantFrom('a', 'b') }),
    fc.record({ does: fc.constant('take back' as const), which: fc.nat(20) }),
    fc.record({ does: fc.constant('wait' as const), ms: fc.nat(90_000) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = new FakeClock()
      const foreseen = new Foreseen<number>(clock)
      const ends = new Map<number, string[]>()
      const standing = new Map<string, number>()
      const takeBacks: (() => void)[] = []
      for (const each of steps) {
        if (each.does === 'foresee') {
          const id = takeBacks.length
          const replaced = standing.get(each.key)
          if (replaced !== undefined) ends.get(replaced)?.push('replaced')
          ends.set(id, [])
          standing.set(each.key, id)
          takeBacks.push(
            foreseen.add(each.key, id, () => {
              ends.get(id)?.push('undone')
              standing.delete(each.key)
            }),
          )
        } else if (each.does === 'settle') {
          const settled = foreseen.settle(each.key)
          if (settled !== standing.get(each.key)) ends.set(Infinity, ['settled', 'is another one'])
          else if (settled !== undefined) ends.get(settled)?.push('settled')
          standing.delete(each.key)
        } else if (each.does === 'take back') takeBacks[each.which]?.()
        else await clock.advance(each.ms)
      }
      await clock.advance(60_000)
      expect([...ends.values()].every((ways) => ways.length === 1)).toBe(true)
      expect(['a', 'b'].map((key) => foreseen.get(key))).toEqual([undefined, undefined])
    }),
  )
})
