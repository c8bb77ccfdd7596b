import { ageOf, coreAgeColumn } from './age.ts'
import type { Column } from '../kind.ts'
import type { ContainerStatus, Pod } from '../pod.ts'

export const podColumns: ReadonlyArray<Column<Pod>> = [
  { name: 'Ready', type: 'string', cell: (pod) => summaryOf(pod).ready },
  { name: 'Status', type: 'string', cell: (pod) => summaryOf(pod).word },
  { name: 'Restarts', type: 'string', cell: restartsText },
  coreAgeColumn,
  {
    name: 'IP',
    type: 'string',
    priority: 1,
    cell: ({ status }) => status?.podIPs?.[0]?.ip ?? (status?.podIP || '<none>'),
  },
  { name: 'Node', type: 'string', priority: 1, cell: (pod) => pod.spec.nodeName || '<none>' },
  { name: 'Nominated Node', type: 'string', priority: 1, cell: ({ status }) => status?.nominatedNodeName || '<none>' },
  { name: 'Readiness Gates', type: 'string', priority: 1, cell: readinessGatesText },
]

interface Summary {
  readonly ready: string
  /** The one word for the Pod: the most telling of phase, reason and container states. */
  readonly word: string
  /** Those whose restarts count: the ones that hold the Pod up, or those that are its work. */
  readonly counted: readonly ContainerStatus[]
}

function summaryOf(pod: Pod): Summary {
  const { status, spec } = pod
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name))
  const initStatuses = status?.initContainerStatuses ?? []
  const statuses = status?.containerStatuses ?? []
  const pausedAt = initStatuses.findIndex((container) => !isInitDone(container, sidecars))
  const readySidecars = initStatuses
    .slice(0, pausedAt < 0 ? undefined : pausedAt)
    .filter((container) => sidecars.has(container.name) && container.started && container.ready).length
  const paused = initStatuses[pausedAt]
  const isInitialized = hasCondition(pod, 'Initialized')
  const total = spec.containers.length + sidecars.size
  if (paused && !isInitialized) {
    const word = terminatingOr(pod, initWord(paused, pausedAt, spec.initContainers?.length ?? 0))
    return { ready: `${readySidecars}/${total}`, word, counted: initStatuses.slice(0, pausedAt + 1) }
  }
  const running = statuses.filter(({ ready, state }) => ready && state?.running && !state.waiting && !state.terminated)
  let word = phaseWord(pod)
  for (const container of statuses.toReversed()) word = stateWord(container) ?? word
  if (word === 'Completed' && running.length > 0) word = hasCondition(pod, 'Ready') ? 'Running' : 'NotReady'
  const counted = [...initStatuses.filter(({ name }) => sidecars.has(name)), ...statuses]
  return { ready: `${readySidecars + running.length}/${total}`, word: terminatingOr(pod, word), counted }
}

function phaseWord({ status }: Pod): string {
  const gated = status?.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated')
  return gated ? 'SchedulingGated' : status?.reason || (status?.phase ?? '')
}

function stateWord({ state }: ContainerStatus): string | undefined {
  if (state?.waiting?.reason) return state.waiting.reason
  if (!state?.terminated) return undefined
  const { reason, signal, exitCode } = state.terminated
  return reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`)
}

function initWord(container: ContainerStatus, index: number, total: number): string {
  const word = container.state?.waiting?.reason === 'PodInitializing' ? undefined : stateWord(container)
  return word === undefined ? `Init:${index}/${total}` : `Init:${word}`
}

function terminatingOr(pod: Pod, word: string): string {
  if (pod.metadata.deletionTimestamp === undefined) return word
  if (pod.status?.reason === 'NodeLost') return 'Unknown'
  const over = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
  return over ? word : 'Terminating'
}

function isInitDone({ name, state, started }: ContainerStatus, sidecars: ReadonlySet<string>): boolean {
  return state?.terminated?.exitCode === 0 || (sidecars.has(name) && started === true)
}

function isSidecar({ restartPolicy }: { readonly restartPolicy?: unknown }): boolean {
  return restartPolicy === 'Always'
}

function hasCondition({ status }: Pod, wanted: string): boolean {
  return status?.conditions?.some(({ type, status }) => type === wanted && status === 'True') ?? false
}

function restartsText(pod: Pod, now: number): string {
  const { counted } = summaryOf(pod)
  const restarts = counted.reduce((sum, { restartCount }) => sum + restartCount, 0)
  const ends = counted.flatMap(({ lastState }) => lastState?.terminated?.finishedAt ?? []).sort()
  const last = ends.at(-1)
  return restarts > 0 && last !== undefined ? `${restarts} (${ageOf(last, now)} ago)` : String(restarts)
}

function readinessGatesText(pod: Pod): string {
  const gates = pod.spec.readinessGates ?? []
  if (gates.length === 0) return '<none>'
  const met = gates.filter(({ conditionType }) => hasCondition(pod, conditionType)).length
  return `${met}/${gates.length}`
}
