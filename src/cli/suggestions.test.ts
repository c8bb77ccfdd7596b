import { describe, expect, it } from 'vitest'
import { didYouMean, suggestionsFor } from './suggestions.ts'

const known = ['up', 'status', 'model', 'model list', 'model pull', 'logs', 'sleep']

describe('what somebody may have meant', () => {
  it.each([
    ['modle', ['model']],
    ['stauts', ['status']],
    ['slep', ['sleep']],
    ['model lsit', ['model list']],
    ['stat', ['status']],
    ['kubernetes', []],
    ['', []],
    ['x'.repeat(1_000), []],
  ])('%s', (word, meant) => {
    expect(suggestionsFor(word, known)).toEqual(meant)
  })

  it('is asked in a sentence, or not at all', () => {
    expect(didYouMean('lgos', known, (name) => `\`sluice ${name}\``)).toBe(' Did you mean `sluice logs`?')
    expect(didYouMean('something', known)).toBe('')
  })
})
