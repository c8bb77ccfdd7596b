import type { Container, ContainerStatus, Pod } from '../resources/pod.ts'
import { type ContainerMemory, afterExit, afterStart, freshMemory, nodeStoppedReason } from './container-memory.ts'
import type { EndedContainer, RunningContainer } from './pod-runtime.ts'

/** What a node knows of a Pod's containers when it first sees the Pod: those that run, those that ran, and those that never did. */
export function recallContainers(
  pod: Pod,
  adopted: readonly RunningContainer[],
  unsettled: readonly EndedContainer[],
  now: number,
): ContainerMemory[] {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])]
  const recall = (init: boolean) => (spec: Container) => {
    const status = statuses.find(({ name }) => name === spec.name)
    const running = adopted.find(({ container }) => container === spec.name)
    if (running) return adoptedMemory(spec, init, status, running)
    const ended = unsettled.find(({ container }) => container === spec.name)
    return recalledMemory(spec, init, { status, ended }, now)
  }
  return [...(pod.spec.initContainers ?? []).map(recall(true)), ...pod.spec.containers.map(recall(false))]
}

/** What two places remember of a container: the Pod's status, and the machine it ran on. */
interface Recollection {
  readonly status: ContainerStatus | undefined
  readonly ended: EndedContainer | undefined
}

/** What is known about a container whose process did not come along. */
function recalledMemory(spec: Container, init: boolean, { status, ended }: Recollection, now: number): ContainerMemory {
  const memory = { ...freshMemory(spec, init), restarts: status?.restartCount ?? 0 }
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

/** Whether the status does not yet say what came after it. */
function isNews({ attempt }: EndedContainer, status: ContainerStatus | undefined): boolean {
  return attempt >= (status?.restartCount ?? 0) && status?.state?.waiting?.reason !== nodeStoppedReason
}

/** A container whose process came along: as it was before this program was restarted; the probes correct what is no longer true. */
function adoptedMemory(
  spec: Container,
  init: boolean,
  status: ContainerStatus | undefined,
  running: RunningContainer,
): ContainerMemory {
  const memory = afterStart(freshMemory(spec, init), running)
  const started = memory.started || status?.started === true
  return { ...memory, started, ready: memory.ready || status?.ready === true }
}

function timeOf(text: string | undefined, fallback: number): number {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) ? fallback : time
}
