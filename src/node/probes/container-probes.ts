import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Container, Probe } from '../../resources/pod.ts'
import { type RunInContainer, checkProbe } from './probe-check.ts'
import { runProbe } from './probe-loop.ts'
import { type ProbeRole, type ProbeState, initialProbeState } from './probe-state.ts'
import type { RunningContainer } from '../pod-runtime.ts'

export interface ContainerProbesOptions {
  readonly clock: Clock
  readonly log: Logger
  run(container: string, words: readonly string[], signal: AbortSignal): ReturnType<RunInContainer>
  change(container: string, change: { started?: boolean; ready?: boolean }): void
  event(type: 'Normal' | 'Warning', reason: string, message: string): void
  /** Called when a liveness or startup probe has failed for good. */
  restart(container: string, why: string, graceSeconds: number | undefined): void
}

/** The probes of a Pod's running containers: startup first, then readiness and liveness side by side. */
export class ContainerProbes {
  readonly #options: ContainerProbesOptions
  readonly #stops = new Map<string, AbortController>()

  constructor(options: ContainerProbesOptions) {
    this.#options = options
  }

  start(container: Container, running: RunningContainer, before: { started: boolean; ready: boolean }): void {
    this.stop(container.name)
    const stop = new AbortController()
    this.#stops.set(container.name, stop)
    this.#run(container, running, before, stop.signal).catch((error: unknown) => {
      this.#options.log.error({ err: error, container: container.name }, 'probing failed')
    })
  }

  stop(container: string): void {
    this.#stops.get(container)?.abort()
    this.#stops.delete(container)
  }

  stopAll(): void {
    for (const container of this.#stops.keys()) this.stop(container)
  }

  async #run(
    container: Container,
    running: RunningContainer,
    before: { started: boolean; ready: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { startupProbe, readinessProbe, livenessProbe } = container
    const { name } = container
    if (startupProbe && !before.started) {
      const outcome = await this.#probe(
        'startup',
        startupProbe,
        container,
        running,
        initialProbeState,
        signal,
        () => {},
      )
      if (signal.aborted) return
      if (outcome !== 'success') return this.#options.restart(name, 'failed startup probe', graceOf(startupProbe))
      this.#options.change(name, { started: true, ...(readinessProbe === undefined && { ready: true }) })
    }
    const readyBefore: ProbeState = before.ready ? { ...initialProbeState, outcome: 'success' } : initialProbeState
    const probing: Promise<unknown>[] = []
    if (readinessProbe) {
      const tell = (outcome: ProbeState['outcome']) => this.#options.change(name, { ready: outcome === 'success' })
      probing.push(this.#probe('readiness', readinessProbe, container, running, readyBefore, signal, tell))
    }
    if (livenessProbe) {
      const tell = (outcome: ProbeState['outcome']) => {
        if (outcome === 'failure') this.#options.restart(name, 'failed liveness probe', graceOf(livenessProbe))
      }
      probing.push(this.#probe('liveness', livenessProbe, container, running, initialProbeState, signal, tell))
    }
    await Promise.all(probing)
  }

  async #probe(
    role: ProbeRole,
    probe: Probe,
    container: Container,
    running: RunningContainer,
    initial: ProbeState,
    signal: AbortSignal,
    tell: (outcome: ProbeState['outcome']) => void,
  ): Promise<ProbeState['outcome']> {
    let outcome = initial.outcome
    const run: RunInContainer = (words, deadline) => this.#options.run(container.name, words, deadline)
    const check = (deadline: AbortSignal) => checkProbe(probe, container, running.podIP, run, deadline)
    await runProbe(
      {
        probe,
        role,
        clock: this.#options.clock,
        initial,
        check,
        onResult: (result, state, changed) => {
          outcome = state.outcome
          // Refused connections of a starting server are no news.
          const word = `${role.charAt(0).toUpperCase()}${role.slice(1)}`
          if (result.ok && result.warning !== undefined) {
            this.#options.event('Warning', 'ProbeWarning', `${word} probe warning: ${result.warning}`)
          }
          const worthTelling = role !== 'startup' && (state.outcome === 'success' || state.failures > 1)
          if (!result.ok && state.countedAt === this.#options.clock.now() && worthTelling) {
            this.#options.event('Warning', 'Unhealthy', `${word} probe failed: ${result.message}`)
          }
          if (changed) tell(outcome)
        },
      },
      signal,
    )
    return outcome
  }
}

/** The probe's own grace period; `undefined` if the Pod's applies. */
function graceOf({ terminationGracePeriodSeconds: seconds }: Probe): number | undefined {
  return typeof seconds === 'number' ? seconds : undefined
}
