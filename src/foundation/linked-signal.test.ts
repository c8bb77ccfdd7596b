import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { linkSignals } from './linked-signal.ts'

describe('linkSignals', () => {
  it('is aborted with the first of those it follows, for the same reason', () => {
    const [one, other] = [new AbortController(), new AbortController()]
    const { signal } = linkSignals(one.signal, undefined, other.signal)
    const reason = new Error('enough')
    other.abort(reason)
    one.abort(new Error('too late'))
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toBe(reason)
  })

  it('is aborted at once when one of them is', () => {
    const over = AbortSignal.abort(new Error('before'))
    const later = new AbortController()
    const { signal } = linkSignals(over, later.signal)
    expect(signal.reason).toMatchObject({ message: 'before' })
    expect(getEventListeners(later.signal, 'abort')).toHaveLength(0)
  })

  it('is aborted by its owner', () => {
    const parent = new AbortController()
    const linked = linkSignals(parent.signal)
    linked.abort(new Error('overdue'))
    expect(linked.signal.reason).toMatchObject({ message: 'overdue' })
    expect(parent.signal.aborted).toBe(false)
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0)
  })

  it('leaves nothing on a signal that lives on, however often it is linked', () => {
    const parent = new AbortController()
    for (let count = 0; count < 10_000; count += 1) linkSignals(parent.signal).release()
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0)
    const { signal, release } = linkSignals(parent.signal)
    release()
    parent.abort()
    expect(signal.aborted).toBe(false)
  })
})
