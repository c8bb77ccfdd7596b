import { describe, expect, it } from 'vitest'
import { chooseSequence } from './choose-sequence.ts'
import type { Token } from '../native/loaded-model.ts'
import { Sequence } from '../native/sequence.ts'

const numbers = (from: number, count: number): Token[] => Array.from({ length: count }, (_, index) => from + index)
/** What a chat template begins with. */
const opening = numbers(1, 24)

function slot(name: string, id: number | undefined, tokens: readonly Token[], usedAt = 0) {
  const sequence = new Sequence()
  sequence.computed(tokens)
  sequence.id = id
  sequence.usedAt = usedAt
  return { name, sequence }
}
const chosen = (slots: ReturnType<typeof slot>[], prompt: readonly Token[]) => chooseSequence(slots, prompt)?.name

describe('the sequence for a prompt', () => {
  const long = [...opening, ...numbers(1_000, 900)]
  const short = [...opening, ...numbers(5_000, 100)]
  const other = [...opening, ...numbers(9_000, 30)]

  it('is the one that it continues, however long', () => {
    const slots = [slot('short', 0, short), slot('long', 1, long), slot('empty', undefined, [])]
    expect(chosen(slots, [...long, ...numbers(3_000, 10)])).toBe('long')
    expect(chosen(slots, [...short, ...numbers(3_000, 10)])).toBe('short')
  })

  it('is one that has the template’s beginning, rather than an empty one', () => {
    expect(chosen([slot('empty', undefined, []), slot('short', 0, short)], other)).toBe('short')
  })

  it('is none with a long conversation of somebody else, while there is another', () => {
    expect(chosen([slot('long', 0, long), slot('empty', undefined, [])], other)).toBe('empty')
    expect(chosen([slot('long', 0, long), slot('empty', undefined, []), slot('short', 1, short)], other)).toBe('short')
  })

  it('is the one whose last answer is asked for once more, though that was long', () => {
    const slots = [slot('long', 0, [...long, ...numbers(3_000, 600)]), slot('empty', undefined, [])]
    expect(chosen(slots, long)).toBe('long')
  })

  it('is the one with the fewest tokens, then the first, if they share as much', () => {
    expect(chosen([slot('more', 0, short), slot('fewer', 1, other)], numbers(20_000, 5))).toBe('fewer')
    expect(chosen([slot('second', 1, []), slot('first', 0, []), slot('later', undefined, [])], other)).toBe('first')
  })

  it('is the one that was left alone for longest, if all have long conversations', () => {
    const longer = [...opening, ...numbers(7_000, 1_500)]
    expect(chosen([slot('now', 0, long, 9), slot('before', 1, longer, 3), slot('then', 2, long, 5)], other)).toBe(
      'before',
    )
  })

  it('is none where there is none', () => {
    expect(chosen([], other)).toBeUndefined()
  })
})
