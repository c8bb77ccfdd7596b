import type { Sampling } from './language-model.ts'
import type { Candidate } from './native/computing.ts'

export type { Candidate }

/**
 * Draws a token as llama.cpp's samplers do: keep the likeliest topK, of those the topP share, of those the ones that
 * reach minP, then draw by temperature. It is needed where the whole distribution is reported as well, since llama.cpp
 * gives that only without sampling.
 */
export function drawToken(candidates: readonly Candidate[], sampling: Sampling, random: () => number): number {
  const [likeliest] = candidates
  if (!likeliest) throw new RangeError('there is no token to draw from')
  if (sampling.temperature === 0) return likeliest[0]
  const kept = narrow(candidates, sampling)
  const weights = kept.map(([, probability]) => (probability / likeliest[1]) ** (1 / sampling.temperature))
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0)
  for (const [index, weight] of weights.entries()) {
    left -= weight
    if (left < 0) return kept[index]?.[0] ?? likeliest[0]
  }
  return likeliest[0]
}

function narrow(candidates: readonly Candidate[], { topK, topP, minP }: Sampling): readonly Candidate[] {
  const most = topK > 0 ? candidates.slice(0, topK) : candidates
  const total = most.reduce((sum, [, probability]) => sum + probability, 0)
  let share = 0
  const enough = most.findIndex(([, probability]) => {
    share += probability
    return share >= topP * total
  })
  const nucleus = enough === -1 ? most : most.slice(0, enough + 1)
  const floor = minP * (nucleus[0]?.[1] ?? 0)
  return nucleus.filter(([, probability]) => probability >= floor)
}

/** A generator of uniform numbers in [0, 1) that repeats for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
