import { describe, expect, it } from 'vitest'
import type { Sampling } from './language-model.ts'
import { type Candidate, drawToken, seededRandom } from './token-draw.ts'

const candidates: readonly Candidate[] = [
  [7, 0.5],
  [8, 0.3],
  [9, 0.15],
  [10, 0.05],
]
const open: Sampling = {
  temperature: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  seed: 0,
  presencePenalty: 0,
  frequencyPenalty: 0,
  repetitionPenalty: 1,
  logitBias: new Map(),
}

/** How often each token is drawn, as a share of all draws. */
function shares(more: Partial<Sampling>): Map<number, number> {
  const random = seededRandom(1)
  const drawn = new Map<number, number>()
  const times = 20_000
  for (let count = 0; count < times; count++) {
    const token = drawToken(candidates, { ...open, ...more }, random)
    drawn.set(token, (drawn.get(token) ?? 0) + 1 / times)
  }
  return drawn
}

describe('drawToken', () => {
  it('takes the likeliest at temperature 0', () => {
    expect([...shares({ temperature: 0 }).keys()]).toEqual([7])
  })

  it('draws as often as the probabilities say', () => {
    const drawn = shares({})
    for (const [token, probability] of candidates) expect(drawn.get(token)).toBeCloseTo(probability, 1)
  })

  it('draws the likely more often when cool, the unlikely when hot', () => {
    expect(shares({ temperature: 0.5 }).get(7)).toBeGreaterThan(0.6)
    expect(shares({ temperature: 2 }).get(10)).toBeGreaterThan(0.08)
  })

  it.each([
    [{ topK: 2 }, [7, 8]],
    [{ topP: 0.8 }, [7, 8]],
    [{ topP: 0.01 }, [7]],
    [{ minP: 0.25 }, [7, 8, 9]],
    [{ topK: 3, topP: 0.6 }, [7, 8]],
  ])('considers only what %o leaves', (narrowed, tokens) => {
    expect([...shares(narrowed).keys()].toSorted((a, b) => a - b)).toEqual(tokens)
  })

  it('draws the same for the same seed', () => {
    const draw = (seed: number) => {
      const random = seededRandom(seed)
      return Array.from({ length: 20 }, () => drawToken(candidates, open, random))
    }
    expect(draw(5)).toEqual(draw(5))
    expect(draw(5)).not.toEqual(draw(6))
  })
})
