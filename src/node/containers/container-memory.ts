import type { Container, ContainerState, ContainerStatus, Pod } from '../../resources/pod.ts'
import { timestamp } from '../../resources/kubernetes-object.ts'
import type { ContainerExit, RunningContainer } from '../pod-runtime.ts'
import { type CrashBackoff, backoffAfterExit, noBackoff } from '../pods/restart-policy.ts'

/** What the node knows of one container. Replaced as a whole, never changed in place. */
export interface ContainerMemory {
  readonly spec: Container
  readonly init: boolean
  /** Added to look at the others: it is started once, and says nothing about how the Pod does. */
  readonly ephemeral: boolean
  readonly state: MemoryState
  readonly lastExit?: (ContainerExit & { readonly startedAt: number }) | undefined
  readonly restarts: number
  readonly backoff: CrashBackoff
  /** Not started again before this time. */
  readonly startAt: number
  /** When it last could not be started. */
  readonly refusedAt?: number | undefined
  readonly started: boolean
  readonly ready: boolean
}

/** Why a container waits that was ended because the node stopped: it is run again, however it ended. */
export const nodeStoppedReason = 'NodeStopped'

/** A container that the node ended because it stops itself. */
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

/** What keeps containers from their first start, said where their status is read. */
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

/** Sets when it may start again; for a state that is `exited`. */
export function afterExit(memory: ContainerMemory, now: number): ContainerMemory {
  if (memory.state.type !== 'exited') return memory
  const { exit, startedAt } = memory.state
  const backoff = backoffAfterExit(memory.backoff, exit.finishedAt - startedAt)
  return { ...memory, backoff, startAt: now + backoff.delayMs, started: false, ready: false }
}

/** It could not be started: tried again later, as if it had exited. */
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

/** It will not be tried again, so that it could not be started is how it ended: Kubernetes' word and code for it. */
export function afterStartError(memory: ContainerMemory, message: string, now: number): ContainerMemory {
  const exit = { exitCode: 128, reason: 'StartError' as const, message, finishedAt: now }
  return afterExit({ ...memory, state: { type: 'exited', exit, startedAt: 0 } }, now)
}

/** Refused for something that it is made of and that may still change. */
export function lacksConfig({ state }: ContainerMemory): boolean {
  return state.type === 'waiting' && state.reason === 'CreateContainerConfigError'
}

const leastPauseMs = 1000

/** What it was refused for has changed: worth a try before its time, but not one for each of many changes. */
export function trySooner(memory: ContainerMemory): ContainerMemory {
  return { ...memory, startAt: Math.min(memory.startAt, (memory.refusedAt ?? 0) + leastPauseMs) }
}

export function attemptOf(memory: ContainerMemory): number {
  return memory.state.type === 'exited' ? memory.restarts + 1 : memory.restarts
}

/** As the Pod's status shows it. A crashed container that waits for its next start shows why it waits. */
export function containerStatus(memory: ContainerMemory, pod: Pod, willRestart: boolean): ContainerStatus {
  const { spec, state, lastExit } = memory
  const previous = lastExit ? { lastState: terminatedState(lastExit, lastExit.startedAt) } : {}
  const image = spec.image ?? ''
  const wasThere = state.type !== 'waiting' || lastExit !== undefined
  const common = { name: spec.name, restartCount: memory.restarts, image, imageID: wasThere ? image : '' }
  if (state.type === 'waiting') {
    const { message } = state
    // All containers of a Pod with init containers begin so, as in Kubernetes.
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
  // An init container that succeeded counts as ready, as in Kubernetes.
  const ready = memory.init && state.exit.exitCode === 0
  if (!willRestart) return { ...common, ready, started: false, state: terminated, ...previous }
  const message = `back-off ${durationText(memory.backoff.delayMs)} restarting failed container=${spec.name} pod=${fullName(pod)}`
  const waiting = { reason: 'CrashLoopBackOff', message }
  return { ...common, ready, started: false, state: { waiting }, lastState: terminated }
}

/** As the kubelet names a Pod in its messages. */
export function fullName({ metadata }: Pod): string {
  return `${metadata.name}_${metadata.namespace}(${metadata.uid})`
}

/** As Go writes it: `10s`, `2m40s`, `5m0s`. */
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
