import type { Container, ContainerStatus, Pod } from '../../resources/pod.ts'
import { type ContainerMemory, afterExit, afterStart, freshMemory, nodeStoppedReason } from './container-memory.ts'
import type { EndedContainer, RunningContainer } from '../pod-runtime.ts'

/**
 * What a node knows about a Pod's containers when it first sees the Pod: which run, which have ended, and which never
 * started.
 */
export function recallContainers(
  pod: Pod,
  adopted: readonly RunningContainer[],
  unsettled: readonly EndedContainer[],
  now: number,
): ContainerMemory[] {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {}
  const statuses = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses]
  const recall = (role: ContainerRole) => (spec: Container) => {
    const status = statuses.find(({ name }) => name === spec.name)
    const running = adopted.find(({ container }) => container === spec.name)
    if (running) return adoptedMemory(spec, role, status, running)
    const ended = unsettled.find(({ container }) => container === spec.name)
    return recalledMemory(spec, role, { status, ended }, now)
  }
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec
  return [
    ...initContainers.map(recall('init')),
    ...containers.map(recall('app')),
    ...ephemeralContainers.map(recall('ephemeral')),
  ]
}

type ContainerRole = 'init' | 'app' | 'ephemeral'

function memoryOf(spec: Container, role: ContainerRole): ContainerMemory {
  return freshMemory(spec, role === 'init', role === 'ephemeral')
}

/** The two records of a container's past: the Pod's status, and what this machine noted. */
interface Recollection {
  readonly status: ContainerStatus | undefined
  readonly ended: EndedContainer | undefined
}

/** A container that does not run any more, or never did. */
function recalledMemory(
  spec: Container,
  role: ContainerRole,
  { status, ended }: Recollection,
  now: number,
): ContainerMemory {
  const memory = { ...memoryOf(spec, role), restarts: status?.restartCount ?? 0 }
  if (ended && isNews(ended, status)) {
    const { exit, startedAt, attempt } = ended
    return afterExit({ ...memory, restarts: attempt, state: { type: 'exited', exit, startedAt } }, now)
  }
  const terminated = status?.state?.terminated
  if (terminated) {
    const reason = terminated.exitCode === 0 ? ('Completed' as const) : ('Error' as const)
    const exit = { exitCode: terminated.exitCode, reason, finishedAt: timeOf(terminated.finishedAt, now) }
    return { ...memory, state: { type: 'exited', exit, startedAt: timeOf(terminated.startedAt, now) } }
  }
  if (!status?.state?.running) return memory
  const startedAt = timeOf(status.state.running.startedAt, now)
  const message = 'The process ended while nobody was watching it; its exit code is not known.'
  return afterExit(
    {
      ...memory,
      state: {
        type: 'exited',
        exit: { exitCode: 137, reason: 'ContainerStatusUnknown', message, finishedAt: now },
        startedAt,
      },
    },
    now,
  )
}

/** Whether this end is newer than what the status says. */
function isNews({ attempt }: EndedContainer, status: ContainerStatus | undefined): boolean {
  return attempt >= (status?.restartCount ?? 0) && status?.state?.waiting?.reason !== nodeStoppedReason
}

/** A container that still runs: as its status last described it; the probes will correct what has changed. */
function adoptedMemory(
  spec: Container,
  role: ContainerRole,
  status: ContainerStatus | undefined,
  running: RunningContainer,
): ContainerMemory {
  const memory = afterStart(memoryOf(spec, role), running)
  const started = memory.started || status?.started === true
  return { ...memory, started, ready: memory.ready || status?.ready === true }
}

function timeOf(text: string | undefined, fallback: number): number {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? fallback : time
}
