import type { ContainerMemory } from '../containers/container-memory.ts'
import { isSidecar } from './pod-parts.ts'
import { type RestartPolicy, shouldRestart } from './restart-policy.ts'

export interface PodPlan {
  /** Containers to start now. */
  readonly start: readonly string[]
  /** When the next start is due, if nothing happens before. */
  readonly wakeAt?: number
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed'
  readonly initialized: boolean
}

/**
 * Decides what a Pod's containers need next: init containers run one after the other, then all others at once. A
 * sidecar (an init container that always restarts) lets the next one begin as soon as it has started, and runs as long
 * as the others do.
 */
export function planPod(policy: RestartPolicy, all: readonly ContainerMemory[], now: number): PodPlan {
  const containers = all.filter(({ ephemeral }) => !ephemeral)
  const apps = containers.filter(({ init }) => !init)
  // Ephemeral containers start even in a Pod that does not come up, but only once.
  const looking = all.filter(({ ephemeral, state }) => ephemeral && state.type === 'waiting')
  const appHasRun = apps.some(({ state, restarts }) => state.type !== 'waiting' || restarts > 0)
  const sidecars = containers.filter(({ init, spec }) => init && isSidecar(spec))
  const current = appHasRun ? undefined : containers.find((memory) => memory.init && !isPassed(memory))
  const before = current
    ? sidecars.filter((memory) => containers.indexOf(memory) < containers.indexOf(current))
    : sidecars
  if (current) {
    // "Always" is about the app containers: an init container that succeeded is done.
    const failedForGood = current.state.type === 'exited' && policy === 'Never' && !isSidecar(current.spec)
    if (failedForGood) return { start: [], phase: 'Failed', initialized: false }
    return { ...startDue([...before, current, ...looking], now), phase: 'Pending', initialized: false }
  }

  const exits = apps.flatMap(({ state }) => (state.type === 'exited' ? [state.exit.exitCode] : []))
  if (exits.length === apps.length && !exits.some((code) => shouldRestart(policy, code))) {
    return { start: [], phase: exits.every((code) => code === 0) ? 'Succeeded' : 'Failed', initialized: true }
  }
  const waiting = apps.filter((memory) => willStart(policy, memory))
  return {
    ...startDue([...before, ...waiting, ...looking], now),
    phase: appHasRun ? 'Running' : 'Pending',
    initialized: true,
  }
}

/** The final phase of a Pod whose containers will not run again, whatever its restart policy. */
export function phaseAtEnd(containers: readonly ContainerMemory[]): 'Succeeded' | 'Failed' {
  const apps = containers.filter(({ init }) => !init)
  return apps.every(({ state }) => state.type === 'exited' && state.exit.exitCode === 0) ? 'Succeeded' : 'Failed'
}

/** Whether a container does not run but should. */
export function willStart(policy: RestartPolicy, { state, init, spec, ephemeral }: ContainerMemory): boolean {
  if (ephemeral) return state.type === 'waiting'
  if (init && isSidecar(spec)) return state.type !== 'running'
  if (state.type !== 'exited') return state.type === 'waiting'
  return shouldRestart(init && policy === 'Always' ? 'OnFailure' : policy, state.exit.exitCode)
}

function startDue(candidates: readonly ContainerMemory[], now: number): Pick<PodPlan, 'start' | 'wakeAt'> {
  const waiting = candidates.filter(({ state }) => state.type !== 'running')
  const start = waiting.filter(({ startAt }) => startAt <= now).map(({ spec }) => spec.name)
  const later = waiting.map(({ startAt }) => startAt).filter((at) => at > now)
  return later.length > 0 ? { start, wakeAt: Math.min(...later) } : { start }
}

/** Whether an init container is done, so that the next one can start. */
export function isPassed({ state, spec, started }: ContainerMemory): boolean {
  if (isSidecar(spec)) return state.type === 'running' && started
  return state.type === 'exited' && state.exit.exitCode === 0
}
