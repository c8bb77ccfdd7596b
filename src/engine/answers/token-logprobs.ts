import type { TokenLogprob } from '../llama/language-model.ts'
import type { Candidate } from '../llama/native/computing.ts'
import type { LoadedModel, Token } from '../llama/native/loaded-model.ts'

/** Written in place of minus infinity, which JSON does not have; vLLM uses the same number. */
const leastLogprob = -9999

/** Sorts by probability. llama.cpp seems to report the likeliest first already, but does not promise it. */
export function sortedCandidates(candidates: readonly Candidate[]): readonly Candidate[] {
  const sorted = candidates.every(([, probability], index) => probability <= (candidates[index - 1]?.[1] ?? Infinity))
  return sorted ? candidates : candidates.toSorted((a, b) => b[1] - a[1])
}

/** How likely a token was, and how likely the best alternatives were. */
export function logprobOf(
  token: Token,
  candidates: readonly Candidate[],
  alternatives: number,
  model: Pick<LoadedModel, 'detokenize'>,
): TokenLogprob {
  const probability = candidates.find(([candidate]) => candidate === token)?.[1] ?? 0
  return {
    text: model.detokenize([token], true),
    logprob: toLogprob(probability),
    alternatives: candidates.slice(0, alternatives).map(([candidate, share]) => ({
      text: model.detokenize([candidate], true),
      logprob: toLogprob(share),
    })),
  }
}

function toLogprob(probability: number): number {
  return probability > 0 ? Math.max(leastLogprob, Math.log(probability)) : leastLogprob
}
