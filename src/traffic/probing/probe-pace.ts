export interface ProbeFacts {
  readonly state: 'starting' | 'failed'
  /** How long it has been probed. */
  readonly elapsedMs: number
  /** Whether somebody waits for the model. */
  readonly awaited: boolean
}

const shortestMs = 2
const longestAwaitedMs = 10
const longestFailedAwaitedMs = 50
const firstFailedMs = 100
const longestFailedMs = 5_000
/** The pause is this fraction of the time spent so far, so that it never adds a noticeable delay. */
const share = 1 / 100

/**
 * How long to wait before the next probe. While requests wait, readiness is noticed within milliseconds; a failed
 * endpoint that nobody waits for is asked less and less often.
 */
export function probePauseMs({ state, elapsedMs, awaited }: ProbeFacts): number {
  if (awaited) {
    const longest = state === 'failed' ? longestFailedAwaitedMs : longestAwaitedMs
    return within(shortestMs, elapsedMs * share, longest)
  }
  return within(firstFailedMs, elapsedMs, longestFailedMs)
}

function within(shortest: number, ms: number, longest: number): number {
  return Math.min(longest, Math.max(shortest, ms))
}
