/** What English text takes, with the frame of a request around it. */
export const usualBytesPerToken = 4
/** More models than a cluster has: those that are gone are forgotten with all others. */
const mostModels = 1_000
/** Sums are halved here, so that what prompts are like now counts more than what they were once. */
const longestMemoryTokens = 1_000_000

interface Seen {
  bytes: number
  tokens: number
}

/**
 * How many tokens a request's body is likely to be, by what the model's engine reported for others: streams report
 * nothing unless their client asks for it.
 */
export class PromptEstimate {
  readonly #models = new Map<string, Seen>()

  learn(model: string, bodyBytes: number, tokens: number): void {
    let seen = this.#models.get(model)
    if (!seen) {
      if (this.#models.size >= mostModels) this.#models.clear()
      seen = { bytes: 0, tokens: 0 }
      this.#models.set(model, seen)
    }
    seen.bytes += bodyBytes
    seen.tokens += tokens
    if (seen.tokens < longestMemoryTokens) return
    seen.bytes /= 2
    seen.tokens /= 2
  }

  tokensOf(model: string, bodyBytes: number): number {
    const seen = this.#models.get(model)
    const bytesPerToken = seen && seen.tokens > 0 ? seen.bytes / seen.tokens : usualBytesPerToken
    return Math.round(bodyBytes / bytesPerToken)
  }
}
