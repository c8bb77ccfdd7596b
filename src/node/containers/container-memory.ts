import type { Container, ContainerState, ContainerStatus, Pod } from '../../resources/pod.ts'
import { timestamp } from '../../resources/kubernetes-object.ts'
import type { ContainerExit, RunningContainer } from '../pod-runtime.ts'
import { type CrashBackoff, backoffAfterExit, noBackoff } from '../pods/restart-policy.ts'

/** What the node knows about one container. Immutable: every change makes a new one. */
export interface ContainerMemory {
  readonly spec: Container
  readonly init: boolean
  /** An ephemeral container, added for debugging: it is started once and does not affect the Pod's phase. */
  readonly ephemeral: boolean
  readonly state: MemoryState
  readonly lastExit?: (ContainerExit & { readonly startedAt: number }) | undefined
  readonly restarts: number
  readonly backoff: CrashBackoff
  /** The earliest time of the next start. */
  readonly startAt: number
  /** When a start last failed. */
  readonly refusedAt?: number | undefined
  readonly started: boolean
  readonly ready: boolean
}

/**
 * The waiting reason of containers that were stopped because the node stopped. They are started again whatever their
 * exit code.
 */
export const nodeStoppedReason = 'NodeStopped'

/** The container after the node stopped it because the node itself stops. */
export function leftByNode(memory: ContainerMemory): ContainerMemory {
  const message = 'The node was stopped; it starts again with it.'
  const state = { type: 'waiting', reason: nodeStoppedReason, message } as const
  return { ...memory, state, ready: false, started: false }
}

export type MemoryState =
  | { readonly type: 'waiting'; readonly reason: string; readonly message?: string | undefined }
  | { readonly type: 'running'; readonly running: RunningContainer }
  | { readonly type: 'exited'; readonly exit: ContainerExit; readonly startedAt: number }

export function freshMemory(spec: Container, init: boolean, ephemeral = false): ContainerMemory {
  const state = { type: 'waiting', reason: init ? 'PodInitializing' : 'ContainerCreating' } as const
  return { spec, init, ephemeral, state, restarts: 0, backoff: noBackoff, startAt: 0, started: false, ready: false }
}

/** Adds to the waiting containers what they wait for, so that their status shows it. */
export function waitingFor(problem: string, memories: readonly ContainerMemory[]): ContainerMemory[] {
  return memories.map((memory) =>
    memory.state.type === 'waiting' ? { ...memory, state: { ...memory.state, message: problem } } : memory,
  )
}

export function afterStart(memory: ContainerMemory, running: RunningContainer): ContainerMemory {
  const exited =
    memory.state.type === 'exited' ? { ...memory.state.exit, startedAt: memory.state.startedAt } : undefined
  const { startupProbe, readinessProbe } = memory.spec
  const started = startupProbe === undefined
  return {
    ...memory,
    state: { type: 'running', running },
    lastExit: exited ?? memory.lastExit,
    restarts: running.attempt,
    started,
    ready: started && readinessProbe === undefined,
  }
}

/** Computes when an exited container may start again. */
export function afterExit(memory: ContainerMemory, now: number): ContainerMemory {
  if (memory.state.type !== 'exited') return memory
  const { exit, startedAt } = memory.state
  const backoff = backoffAfterExit(memory.backoff, exit.finishedAt - startedAt)
  return { ...memory, backoff, startAt: now + backoff.delayMs, started: false, ready: false }
}

/** After a failed start that is tried again later, with the same back-off as after an exit. */
export function afterRefusal(memory: ContainerMemory, reason: string, message: string, now: number): ContainerMemory {
  const delayMs = Math.max(10_000, backoffAfterExit(memory.backoff, 0).delayMs)
  const backoff = { delayMs, nextDelayMs: Math.min(300_000, delayMs * 2) }
  const restarts = attemptOf(memory)
  return {
    ...memory,
    state: { type: 'waiting', reason, message },
    restarts,
    backoff,
    startAt: now + delayMs,
    refusedAt: now,
  }
}

/**
 * After a failed start that is not tried again: it counts as the container's end, with Kubernetes' reason and exit code
 * for it.
 */
export function afterStartError(memory: ContainerMemory, message: string, now: number): ContainerMemory {
  const exit = { exitCode: 128, reason: 'StartError' as const, message, finishedAt: now }
  return afterExit({ ...memory, state: { type: 'exited', exit, startedAt: 0 } }, now)
}

/** Whether the last start failed because of a ConfigMap, Secret or field that may still change. */
export function lacksConfig({ state }: ContainerMemory): boolean {
  return state.type === 'waiting' && state.reason === 'CreateContainerConfigError'
}

const leastPauseMs = 1000

/**
 * Brings the next start forward, because what the container lacked has changed; but keeps a pause, since changes may
 * come in bursts.
 */
export function trySooner(memory: ContainerMemory): ContainerMemory {
  return { ...memory, startAt: Math.min(memory.startAt, (memory.refusedAt ?? 0) + leastPauseMs) }
}

export function attemptOf(memory: ContainerMemory): number {
  return memory.state.type === 'exited' ? memory.restarts + 1 : memory.restarts
}

/** The container as the Pod's status shows it. One that crashed and waits for its next start shows why it waits. */
export function containerStatus(memory: ContainerMemory, pod: Pod, willRestart: boolean): ContainerStatus {
  const { spec, state, lastExit } = memory
  const previous = lastExit ? { lastState: terminatedState(lastExit, lastExit.startedAt) } : {}
  const image = spec.image ?? ''
  const wasThere = state.type !== 'waiting' || lastExit !== undefined
  const common = { name: spec.name, restartCount: memory.restarts, image, imageID: wasThere ? image : '' }
  if (state.type === 'waiting') {
    const { message } = state
    // As in Kubernetes, all containers of a Pod with init containers begin with this reason.
    const isNew = state.reason === 'ContainerCreating' && (pod.spec.initContainers?.length ?? 0) > 0
    const reason = isNew ? 'PodInitializing' : state.reason
    const waiting = message === undefined ? { reason } : { reason, message }
    return { ...common, ready: false, started: false, state: { waiting }, ...previous }
  }
  if (state.type === 'running') {
    const running = { startedAt: timestamp(state.running.startedAt) }
    const containerID = `process://${state.running.pid}`
    return { ...common, containerID, ready: memory.ready, started: memory.started, state: { running }, ...previous }
  }
  const terminated = terminatedState(state.exit, state.startedAt)
  // As in Kubernetes, an init container that succeeded counts as ready.
  const ready = memory.init && state.exit.exitCode === 0
  if (!willRestart) return { ...common, ready, started: false, state: terminated, ...previous }
  const message = `back-off ${durationText(memory.backoff.delayMs)} restarting failed container=${spec.name} pod=${fullName(pod)}`
  const waiting = { reason: 'CrashLoopBackOff', message }
  return { ...common, ready, started: false, state: { waiting }, lastState: terminated }
}

/** The Pod's name as the kubelet writes it in messages. */
export function fullName({ metadata }: Pod): string {
  return `${metadata.name}_${metadata.namespace}(${metadata.uid})`
}

/** A duration as Go writes it: `10s`, `2m40s`, `5m0s`. */
function durationText(ms: number): string {
  const seconds = ms / 1000
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}

function terminatedState(exit: ContainerExit, startedAt: number): ContainerState {
  const { exitCode, signal, reason, message, finishedAt } = exit
  return {
    terminated: {
      exitCode,
      ...(signal !== undefined && { signal }),
      reason,
      ...(message !== undefined && { message }),
      startedAt: timestamp(startedAt),
      finishedAt: timestamp(finishedAt),
    },
  }
}
