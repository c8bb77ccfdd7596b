import { describe, expect, it } from 'vitest'
import { Remembered } from './remembered.ts'

function counting(isWorthIt?: (value: { text: string }) => boolean) {
  const parsed: string[] = []
  const remembered = new Remembered((text: string) => {
    parsed.push(text)
    if (text === 'bad') throw new Error('bad')
    return { text }
  }, isWorthIt)
  return { remembered, parsed }
}

describe('Remembered', () => {
  it('gives the same answer to the same text without parsing it again', () => {
    const { remembered, parsed } = counting()
    const first = remembered.of('host: a')
    const before = parsed.length
    expect(remembered.of('host: a')).toBe(first)
    expect(parsed).toHaveLength(before)
  })

  it('keeps neither what is not worth it, nor what is long, nor an error', () => {
    const { remembered, parsed } = counting(({ text }) => !text.startsWith('cookie'))
    for (const text of ['cookie: a', 'x'.repeat(161)]) {
      remembered.of(text)
      remembered.of(text)
      expect(parsed.splice(0)).toEqual([text, text])
    }
    for (const _ of [1, 2]) expect(() => remembered.of('bad')).toThrow('bad')
    expect(parsed).toEqual(['bad', 'bad'])
  })

  it('starts anew when it is full', () => {
    const { remembered } = counting()
    const first = remembered.of('text 0')
    for (let index = 1; index <= 1_024; index++) remembered.of(`text ${index}`)
    expect(remembered.of('text 0')).not.toBe(first)
    expect(remembered.of('text 0')).toEqual(first)
  })
})
