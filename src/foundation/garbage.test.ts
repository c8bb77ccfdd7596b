import { describe, expect, it } from 'vitest'
import { collectGarbage } from './garbage.ts'

describe('collectGarbage', () => {
  it('frees what nobody holds any more, and nothing else', async () => {
    const kept = { text: 'kept' }
    const references = [new WeakRef(kept), new WeakRef({ text: 'not kept' })]
    // A WeakRef holds its object until the turn of the event loop that made it has ended.
    await new Promise((resolve) => setImmediate(resolve))
    await collectGarbage()
    expect(references.map((reference) => reference.deref())).toEqual([kept, undefined])
  })
})
