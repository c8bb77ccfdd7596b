import { array, assert, constantFrom, nat, property, string } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StopMatcher } from './stop-matcher.ts'

describe('StopMatcher', () => {
  it('shows text at once when no stop string can begin in it', () => {
    expect(new StopMatcher(['END']).push('hello')).toEqual({ text: 'hello', stop: undefined })
  })

  it('holds back what may be the beginning of a stop string and releases it when it is not', () => {
    const matcher = new StopMatcher(['END'])
    expect(matcher.push('the E')).toEqual({ text: 'the ', stop: undefined })
    expect(matcher.push('N')).toEqual({ text: '', stop: undefined })
    expect(matcher.push('gine')).toEqual({ text: 'ENgine', stop: undefined })
  })

  it('finds a stop string that arrives in pieces and shows nothing of it', () => {
    const matcher = new StopMatcher(['\n\n', 'User:'])
    expect(matcher.push('Paris.\nUs')).toEqual({ text: 'Paris.\n', stop: undefined })
    expect(matcher.push('er: more')).toEqual({ text: '', stop: 'User:' })
  })

  it('hands out what is left when the text ends', () => {
    const matcher = new StopMatcher(['END'])
    matcher.push('weekEN')
    expect(matcher.flush()).toBe('EN')
  })

  it('cuts at the first complete stop string however the text is split', () => {
    const letters = string({ unit: constantFrom('a', 'b', 'c'), maxLength: 30 })
    const stopLists = array(string({ unit: constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 }), { maxLength: 3 })
    assert(
      property(letters, stopLists, array(nat(6)), (text, stops, cuts) => {
        const shown = feed(new StopMatcher(stops), text, cuts)
        const contained = stops.filter((stop) => text.includes(stop))
        const firstEnd = Math.min(...contained.map((stop) => text.indexOf(stop) + stop.length))
        expect(text.startsWith(shown)).toBe(true)
        expect(stops.some((stop) => shown.includes(stop))).toBe(false)
        expect(contained.length === 0 ? shown === text : shown.length < firstEnd).toBe(true)
      }),
    )
  })
})

function feed(matcher: StopMatcher, text: string, cuts: readonly number[]): string {
  let shown = ''
  let rest = text
  for (const cut of [...cuts, text.length]) {
    const step = matcher.push(rest.slice(0, cut))
    shown += step.text
    rest = rest.slice(cut)
    if (step.stop !== undefined) return shown
  }
  return shown + matcher.flush()
}
