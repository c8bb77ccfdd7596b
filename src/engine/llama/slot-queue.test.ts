import { describe, expect, it } from 'vitest'
import { SlotQueue } from './slot-queue.ts'

const never = new AbortController().signal
const first = <Slot>(idle: readonly Slot[]) => idle[0]
const queueOf = (slots: readonly string[], limit = 10) =>
  new SlotQueue(slots, limit, (waiting) => new Error(`${waiting} wait`))

describe('SlotQueue', () => {
  it('gives the slot the caller likes best among the idle ones', async () => {
    const queue = queueOf(['a', 'b', 'c'])
    expect(await queue.acquire((idle) => idle.at(-1), never)).toBe('c')
    expect(await queue.acquire((idle) => idle.at(-1), never)).toBe('b')
    expect(queue.running).toBe(2)
  })

  it('serves those who wait in the order they came', async () => {
    const queue = queueOf(['only'])
    await queue.acquire(first, never)
    const order: string[] = []
    const waiters = ['one', 'two', 'three'].map(async (name) => {
      const slot = await queue.acquire(first, never)
      order.push(name)
      queue.release(slot)
    })
    expect(queue.waiting).toBe(3)
    queue.release('only')
    await Promise.all(waiters)
    expect(order).toEqual(['one', 'two', 'three'])
    expect(queue.running).toBe(0)
  })

  it('refuses when the line is full', async () => {
    const queue = queueOf(['only'], 1)
    await queue.acquire(first, never)
    const waiting = queue.acquire(first, never)
    await expect(queue.acquire(first, never)).rejects.toThrow('1 wait')
    queue.release('only')
    expect(await waiting).toBe('only')
  })

  it('forgets a waiter who left, and the slot goes to the next', async () => {
    const queue = queueOf(['only'])
    await queue.acquire(first, never)
    const left = new AbortController()
    const leaving = queue.acquire(first, left.signal)
    const staying = queue.acquire(first, never)
    left.abort(new Error('left'))
    await expect(leaving).rejects.toThrow('left')
    queue.release('only')
    expect(await staying).toBe('only')
    expect(queue.waiting).toBe(0)
  })

  it('does not seat someone who left before asking', async () => {
    const queue = queueOf(['only'])
    await expect(queue.acquire(first, AbortSignal.abort(new Error('left')))).rejects.toThrow('left')
    expect(queue.running).toBe(0)
  })
})
