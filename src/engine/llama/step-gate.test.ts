import { describe, expect, it } from 'vitest'
import { StepGate } from './step-gate.ts'

const forever = new AbortController().signal

/** A computation that ends when the test ends it. */
function controlled() {
  const started: number[] = []
  const ends: (() => void)[] = []
  const compute = (order: number) => () => {
    started.push(order)
    return new Promise<void>((resolve) => {
      ends.push(resolve)
    })
  }
  const endAll = () => {
    for (const end of ends.splice(0)) end()
  }
  return { started, compute, endAll }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('StepGate', () => {
  it('starts everyone who waits together, in their order', async () => {
    const gate = new StepGate()
    const { started, compute, endAll } = controlled()
    const all = [3, 1, 2].map((order) => gate.run(order, forever, compute(order)))
    await turn()
    expect(started).toEqual([1, 2, 3])
    endAll()
    await Promise.all(all)
  })

  it('keeps a newcomer out of a step that has begun, and lets those served in it come back first', async () => {
    const gate = new StepGate()
    const { started, compute, endAll } = controlled()
    const again = async (order: number) => {
      await gate.run(order, forever, compute(order))
      await gate.run(order, forever, compute(order))
    }
    const first = [again(1), again(2)]
    await turn()
    const newcomer = gate.run(0, forever, compute(0))
    await turn()
    expect(started).toEqual([1, 2])
    endAll()
    await turn()
    await turn()
    expect(started).toEqual([1, 2, 0, 1, 2])
    endAll()
    await Promise.all([...first, newcomer])
  })

  it('forgets one that leaves while it waits, and goes on after one that fails', async () => {
    const gate = new StepGate()
    const { started, compute, endAll } = controlled()
    const failing = gate.run(1, forever, () => Promise.reject(new Error('broken')))
    const leave = new AbortController()
    const leaving = gate.run(2, leave.signal, compute(2))
    leave.abort(new Error('gone'))
    await expect(leaving).rejects.toThrow('gone')
    await expect(failing).rejects.toThrow('broken')
    const next = gate.run(3, forever, compute(3))
    await turn()
    expect(started).toEqual([3])
    endAll()
    await next
    await expect(gate.run(4, leave.signal, compute(4))).rejects.toThrow('gone')
  })
})
