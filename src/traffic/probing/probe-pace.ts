export interface ProbeFacts {
  readonly state: 'starting' | 'failed'
  /** Since the probing began. */
  readonly elapsedMs: number
  /** Whether somebody waits for the model. */
  readonly awaited: boolean
}

const shortestMs = 2
const longestAwaitedMs = 10
const longestFailedAwaitedMs = 50
const firstFailedMs = 100
const longestFailedMs = 5_000
/** The pause is this part of the time it has taken so far, so that being late is never noticed. */
const share = 1 / 100

/**
 * How long until an endpoint is asked again whether it is healthy. While somebody waits, so often that its readiness is
 * known within milliseconds; a failed one that nobody waits for, less and less often.
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
