import type { Clock } from '../../foundation/clock.ts'
import type { Probe } from '../../resources/pod.ts'
import { withDeadline } from '../processes/with-deadline.ts'
import type { ProbeResult } from './probe-result.ts'
import {
  type ProbeRole,
  type ProbeState,
  advanceProbe,
  initialProbeState,
  nextProbeDelayMs,
  probeTiming,
} from './probe-state.ts'

export interface ProbeLoopOptions {
  readonly probe: Probe
  readonly role: ProbeRole
  readonly clock: Clock
  /** The initial state; an adopted container was ready before. */
  readonly initial?: ProbeState
  readonly check: (signal: AbortSignal) => Promise<ProbeResult>
  /** Called after every probe, with whether the outcome has changed. */
  readonly onResult: (result: ProbeResult, state: ProbeState, changed: boolean) => void
}

/** Probes repeatedly until the signal is aborted or a startup probe has its answer. */
export async function runProbe(options: ProbeLoopOptions, signal: AbortSignal): Promise<void> {
  const { probe, role, clock, check, onResult } = options
  const timing = probeTiming(probe)
  const startedAt = clock.now()
  let state = options.initial ?? initialProbeState
  try {
    if (timing.initialDelayMs > 0) await clock.sleep(timing.initialDelayMs, signal)
    while (!signal.aborted) {
      const result = await withDeadline({ clock, ms: timing.timeoutMs, message: 'timeout' }, signal, check)
      if (signal.aborted) return
      const previous = state
      state = advanceProbe(state, timing, result.ok, clock.now())
      onResult(result, state, state.outcome !== previous.outcome)
      if (role === 'startup' && state.outcome !== 'unknown') return
      await clock.sleep(nextProbeDelayMs(role, state, timing, clock.now() - startedAt), signal)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
