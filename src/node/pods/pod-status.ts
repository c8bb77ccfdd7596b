import { type Condition, timestamp, withCondition } from '../../resources/kubernetes-object.ts'
import type { ContainerState, ContainerStatus, Pod } from '../../resources/pod.ts'
import { firstBytes } from '../containers/cut-text.ts'
import { type ContainerMemory, containerStatus } from '../containers/container-memory.ts'
import { isSidecar } from './pod-parts.ts'
import { type PodPlan, isPassed, willStart } from './pod-plan.ts'

export type PodStatus = NonNullable<Pod['status']>

/** What became of the Pod as a whole. */
export interface PodOutcome extends Pick<PodPlan, 'phase' | 'initialized'> {
  /** Why it ended, if not because of its containers. */
  readonly reason?: string
  readonly message?: string
}

export interface PodAddressing {
  readonly podIP?: string | undefined
  readonly podIP6?: string | undefined
  readonly hostIP: string
  readonly hostIP6?: string | undefined
}

/** The status of a Pod from what the node knows. Conditions of others are kept. */
export function podStatus(
  pod: Pod,
  plan: PodOutcome,
  containers: readonly ContainerMemory[],
  addressing: PodAddressing,
  now: number,
): PodStatus {
  const { podIP, podIP6, hostIP, hostIP6 } = addressing
  const finished = plan.phase === 'Succeeded' || plan.phase === 'Failed'
  const policy = pod.spec.restartPolicy
  const longestMessage = Math.floor(longestMessages / Math.max(1, containers.length))
  const statusOf = (memory: ContainerMemory) =>
    withShortMessages(containerStatus(memory, pod, !finished && willStart(policy, memory)), longestMessage)
  const apps = containers.filter(({ init, ephemeral }) => !init && !ephemeral)
  const inits = containers.filter(({ init }) => init)
  const added = containers.filter(({ ephemeral }) => ephemeral)
  const staying = containers.filter(({ init, ephemeral, spec }) => (init ? isSidecar(spec) : !ephemeral))
  const unready = staying.filter(({ state, ready }) => state.type !== 'running' || !ready).map(({ spec }) => spec.name)
  const ready: Omit<Condition, 'type'> =
    finished || unready.length > 0 ? { status: 'False', ...reasonOf(plan.phase, unready) } : { status: 'True' }
  const closed = closedGates(pod)
  const podReady: Omit<Condition, 'type'> =
    ready.status === 'True' && closed.length > 0
      ? {
          status: 'False',
          reason: 'ReadinessGatesNotReady',
          message: `the conditions ${closed.join(', ')} are not True`,
        }
      : ready
  const hasSandbox = !finished && podIP !== undefined
  const conditions = [
    { type: 'PodScheduled', status: 'True' } as const,
    { type: 'PodReadyToStartContainers', status: hasSandbox ? 'True' : 'False' } as const,
    initializedCondition(plan, inits),
    { type: 'ContainersReady', ...ready },
    { type: 'Ready', ...podReady },
    ...disruption(plan),
  ].reduce<Condition[]>((list, condition) => withCondition(list, condition, now), pod.status?.conditions ?? [])
  return {
    phase: plan.phase,
    ...(plan.reason !== undefined && { reason: plan.reason, message: plan.message ?? '' }),
    hostIP,
    hostIPs: addressList(hostIP, hostIP6),
    ...(podIP !== undefined && { podIP, podIPs: addressList(podIP, podIP6) }),
    startTime: pod.status?.startTime ?? timestamp(now),
    conditions,
    ...(inits.length > 0 && { initContainerStatuses: inits.map(statusOf) }),
    containerStatuses: apps.map(statusOf),
    ...(added.length > 0 && { ephemeralContainerStatuses: added.map(statusOf).map(withoutReadiness) }),
  }
}

const evictedReason = 'TerminationByKubelet'

/** The DisruptionTarget condition, by which a Job tells this failure from one of the Pod's own. */
function disruption({ reason, message = '' }: PodOutcome): Condition[] {
  return reason === 'Evicted' ? [{ type: 'DisruptionTarget', status: 'True', reason: evictedReason, message }] : []
}

function addressList(...addresses: ReadonlyArray<string | undefined>): Array<{ ip: string }> {
  return addresses.flatMap((ip) => (ip === undefined ? [] : [{ ip }]))
}

/** Ephemeral containers are never shown as started or ready. */
function withoutReadiness({ started: _started, ...status }: ContainerStatus): ContainerStatus {
  return { ...status, ready: false }
}

/** The most bytes that all termination messages of a Pod may have together; the kubelet's limit. */
const longestMessages = 12 * 2 ** 10

function withShortMessages(status: ContainerStatus, longest: number): ContainerStatus {
  const shortened = (state: ContainerState | undefined) => {
    const terminated = state?.terminated
    if (terminated?.message === undefined) return state
    return { ...state, terminated: { ...terminated, message: firstBytes(terminated.message, longest) } }
  }
  const { state, lastState, ...rest } = status
  return {
    ...rest,
    ...(state && { state: shortened(state) }),
    ...(lastState && { lastState: shortened(lastState) }),
  }
}

function initializedCondition({ phase, initialized }: PodOutcome, inits: readonly ContainerMemory[]): Condition {
  if (initialized || inits.length === 0) {
    return { type: 'Initialized', status: 'True', ...(phase === 'Succeeded' && { reason: 'PodCompleted' }) }
  }
  const incomplete = inits.filter((memory) => !isPassed(memory)).map(({ spec }) => spec.name)
  const message = `containers with incomplete status: [${incomplete.join(' ')}]`
  return { type: 'Initialized', status: 'False', reason: 'ContainersNotInitialized', message }
}

const ownConditions = new Set(['PodScheduled', 'PodReadyToStartContainers', 'Initialized', 'ContainersReady', 'Ready'])

/** Combines this node's own conditions with those of others in the cluster's copy. */
export function withForeignConditions(own: readonly Condition[], cluster: readonly Condition[]): Condition[] {
  const mine = own.filter(isOwnCondition)
  const isForeign = (condition: Condition) =>
    !isOwnCondition(condition) && !mine.some(({ type }) => type === condition.type)
  return [...cluster.filter(isForeign), ...mine]
}

function isOwnCondition({ type, reason }: Condition): boolean {
  return ownConditions.has(type) || reason === evictedReason
}

/** The readiness gates of the Pod that are not true. */
function closedGates(pod: Pod): string[] {
  const isTrue = (wanted: string) =>
    pod.status?.conditions?.some(({ type, status }) => type === wanted && status === 'True') ?? false
  return (pod.spec.readinessGates ?? []).map(({ conditionType }) => conditionType).filter((type) => !isTrue(type))
}

/** The status of a Pod that cannot run here. */
export function refusedStatus(pod: Pod, reason: string, message: string, now: number): PodStatus {
  const conditions = (['ContainersReady', 'Ready'] as const).reduce<Condition[]>(
    (list, type) => withCondition(list, { type, status: 'False', reason }, now),
    pod.status?.conditions ?? [],
  )
  return { phase: 'Failed', reason, message, startTime: timestamp(now), conditions }
}

function reasonOf(phase: PodPlan['phase'], unready: readonly string[]): { reason: string; message?: string } {
  if (phase === 'Succeeded') return { reason: 'PodCompleted' }
  if (phase === 'Failed') return { reason: 'PodFailed' }
  return { reason: 'ContainersNotReady', message: `containers with unready status: [${unready.join(' ')}]` }
}
