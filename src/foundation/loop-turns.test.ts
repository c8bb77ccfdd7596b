import { expect, it } from 'vitest'
import { FakeClock } from './fake-clock.ts'
import { LoopTurns } from './loop-turns.ts'

it('work that never waits lets the event loop turn after so many pieces', async () => {
  const turns = new LoopTurns(new FakeClock(), { items: 10, ms: 60_000 })
  const doneAtTurn: number[] = []
  let done = 0
  let over = false
  const watch = () => {
    doneAtTurn.push(done)
    if (!over) setImmediate(watch)
  }
  setImmediate(watch)
  for (; done < 100; done += 1) await (turns.next() ?? Promise.resolve())
  over = true
  const gaps = doneAtTurn.slice(1).map((count, index) => count - (doneAtTurn[index] ?? 0))
  expect(doneAtTurn.length).toBeGreaterThanOrEqual(9)
  expect(Math.max(...gaps)).toBeLessThanOrEqual(11)
})

it('a piece that took long is the last one of its turn', () => {
  let now = 0
  const turns = new LoopTurns({ now: () => now }, { items: 1_000, ms: 10 })
  expect(turns.next()).toBeUndefined()
  now = 11
  expect(turns.next()).toBeInstanceOf(Promise)
})
