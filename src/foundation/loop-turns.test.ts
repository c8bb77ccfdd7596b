import { expect, it } from 'vitest'
import { LoopTurns } from './loop-turns.ts'

it('work that never waits lets the event loop turn after so many pieces', async () => {
  const turns = new LoopTurns({ items: 10, ms: 60_000 })
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
  const turns = new LoopTurns({ items: 1_000, ms: 1 })
  expect(turns.next()).toBeUndefined()
  const until = performance.now() + 5
  while (performance.now() < until);
  expect(turns.next()).toBeInstanceOf(Promise)
})
