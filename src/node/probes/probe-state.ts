import type { Probe } from '../../resources/pod.ts'

export type ProbeRole = 'startup' | 'readiness' | 'liveness'

/** What a probe knows so far. `outcome` is what the rest of the node acts on. */
export interface ProbeState {
  readonly outcome: 'unknown' | 'success' | 'failure'
  readonly successes: number
  readonly failures: number
  /** When a failure last counted towards the threshold. */
  readonly countedAt: number
}

export const initialProbeState: ProbeState = { outcome: 'unknown', successes: 0, failures: 0, countedAt: -Infinity }

export interface ProbeTiming {
  readonly initialDelayMs: number
  readonly periodMs: number
  readonly timeoutMs: number
  readonly successThreshold: number
  readonly failureThreshold: number
  /**
   * How soon to look again, at most, while a container starts: asking a port costs next to nothing, a command a
   * process.
   */
  readonly fastestMs: number
}

/** Kubernetes' defaults. */
export function probeTiming(probe: Probe): ProbeTiming {
  return {
    initialDelayMs: (probe.initialDelaySeconds ?? 0) * 1000,
    periodMs: (probe.periodSeconds ?? 10) * 1000,
    timeoutMs: (probe.timeoutSeconds ?? 1) * 1000,
    successThreshold: probe.successThreshold ?? 1,
    failureThreshold: probe.failureThreshold ?? 3,
    fastestMs: probe.exec === undefined ? 20 : 100,
  }
}

/** What one more result makes of the state. */
export function advanceProbe(state: ProbeState, timing: ProbeTiming, succeeded: boolean, now: number): ProbeState {
  if (succeeded) {
    const successes = state.successes + 1
    const outcome = successes >= timing.successThreshold ? 'success' : state.outcome
    return { outcome, successes, failures: 0, countedAt: -Infinity }
  }
  // Looking more often than asked (see below) must not use the threshold up sooner.
  if (now - state.countedAt < timing.periodMs) return { ...state, successes: 0 }
  const failures = state.failures + 1
  const outcome = failures >= timing.failureThreshold ? 'failure' : state.outcome
  return { outcome, successes: 0, failures, countedAt: now }
}

/**
 * When to look next. Until the first success a starting container is looked at far more often than its period: somebody
 * may be waiting for it. A twentieth of the time it already took bounds what is lost and what it costs.
 */
export function nextProbeDelayMs(
  role: ProbeRole,
  state: ProbeState,
  timing: ProbeTiming,
  startedMsAgo: number,
): number {
  if (role === 'liveness' || state.outcome === 'success' || state.successes > 0) return timing.periodMs
  return Math.min(timing.periodMs, Math.max(timing.fastestMs, Math.round(startedMsAgo / 20)))
}
