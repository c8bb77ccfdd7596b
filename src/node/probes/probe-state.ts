import type { Probe } from '../../resources/pod.ts'

export type ProbeRole = 'startup' | 'readiness' | 'liveness'

/** What a probe knows so far. The rest of the node acts on `outcome`. */
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
   * The shortest pause while a container starts: connecting to a port costs next to nothing, a command costs a process.
   */
  readonly fastestMs: number
}

/** A probe's timing, with Kubernetes' defaults. */
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

/** The state after one more result. */
export function advanceProbe(state: ProbeState, timing: ProbeTiming, succeeded: boolean, now: number): ProbeState {
  if (succeeded) {
    const successes = state.successes + 1
    const outcome = successes >= timing.successThreshold ? 'success' : state.outcome
    return { outcome, successes, failures: 0, countedAt: -Infinity }
  }
  // Probing faster than the period must not use up the failure threshold sooner.
  if (now - state.countedAt < timing.periodMs) return { ...state, successes: 0 }
  const failures = state.failures + 1
  const outcome = failures >= timing.failureThreshold ? 'failure' : state.outcome
  return { outcome, successes: 0, failures, countedAt: now }
}

/**
 * When to probe next. Until its first success, a container is probed far more often than its period says, since
 * somebody may be waiting for it. The pause is a twentieth of the time so far, which bounds both the delay and the
 * cost.
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
