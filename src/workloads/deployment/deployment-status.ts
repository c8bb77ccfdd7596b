import type { Deployment } from '../../resources/deployment.ts'
import { type Condition, timestamp } from '../../resources/kubernetes-object.ts'
import type { ReplicaSet } from '../../resources/replica-set.ts'
import { conditionsField, nonZero, withoutCondition } from '../status-fields.ts'
import type { Sets } from './revisions.ts'
import { progressDeadlineMs, replicasOf, rolloutLimits } from './rollout-limits.ts'

type Status = NonNullable<Deployment['status']>
type DeploymentCondition = NonNullable<Status['conditions']>[number]

/** What the status says about a rollout's progress besides the counts. */
export interface Happening {
  readonly reason: string
  readonly message: string
  readonly status: Condition['status']
}

/** The counts, and whether enough Pods are available. */
export function countedStatus(deployment: Deployment, sets: Sets, now: number): Status {
  const all = sets.current ? [...sets.old, sets.current] : sets.old
  const sum = (count: (status: NonNullable<ReplicaSet['status']>) => number | undefined, of = all) =>
    of.reduce((total, { status }) => total + ((status && count(status)) ?? 0), 0)
  const available = sum((status) => status.availableReplicas)
  const wanted = all.reduce((total, { spec }) => total + replicasOf(spec), 0)
  const enough = available >= replicasOf(deployment.spec) - rolloutLimits(deployment).unavailable
  const conditions = putUpdated(
    deployment.status?.conditions ?? [],
    enough
      ? condition('Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.')
      : condition('Available', 'False', 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.'),
    now,
  )
  return {
    ...nonZero({
      observedGeneration: deployment.metadata.generation,
      replicas: sum((status) => status.replicas),
      updatedReplicas: sum((status) => status.replicas, sets.current ? [sets.current] : []),
      readyReplicas: sum((status) => status.readyReplicas),
      availableReplicas: available,
      unavailableReplicas: Math.max(0, wanted - available),
      collisionCount: deployment.status?.collisionCount,
    }),
    ...conditionsField(conditions),
  }
}

/** The same, with the progress of the rollout. */
export function rolloutStatus(deployment: Deployment, sets: Sets, now: number): Status {
  const status = countedStatus(deployment, sets, now)
  const conditions = status.conditions ?? []
  const failed = [sets.current, ...sets.old].flatMap(
    (set) => set?.status?.conditions?.filter(({ type }) => type === 'ReplicaFailure') ?? [],
  )
  const [failure] = failed
  const others = withoutCondition(conditions, 'ReplicaFailure')
  const withFailure = failure
    ? putUpdated(conditions, condition('ReplicaFailure', failure.status, failure.reason, failure.message), now)
    : others
  return { ...withoutConditions(status), ...conditionsField(withProgress(deployment, sets, status, withFailure, now)) }
}

function withProgress(
  deployment: Deployment,
  { current }: Sets,
  status: Status,
  conditions: readonly DeploymentCondition[],
  now: number,
): DeploymentCondition[] {
  if (progressDeadlineMs(deployment) === undefined) return withoutCondition(conditions, 'Progressing')
  const before = conditions.find(({ type }) => type === 'Progressing')
  // A complete rollout stays complete: fewer available Pods later do not make it late.
  if (status.replicas === status.updatedReplicas && before?.reason === 'NewReplicaSetAvailable') return [...conditions]
  const who = current ? `ReplicaSet "${current.metadata.name}"` : `Deployment "${deployment.metadata.name}"`
  if (isComplete(deployment, status)) {
    const message = `${who} has successfully progressed.`
    return putUpdated(conditions, condition('Progressing', 'True', 'NewReplicaSetAvailable', message), now)
  }
  if (hasProgressed(deployment.status ?? {}, status)) {
    const next = condition('Progressing', 'True', 'ReplicaSetUpdated', `${who} is progressing.`)
    const transition = before?.status === 'True' ? before.lastTransitionTime : timestamp(now)
    const updated = { ...next, lastUpdateTime: timestamp(now), lastTransitionTime: transition ?? timestamp(now) }
    return [...withoutCondition(conditions, 'Progressing'), updated]
  }
  if (isTimedOut(deployment, before, now)) {
    const message = `${who} has timed out progressing.`
    return putUpdated(conditions, condition('Progressing', 'False', 'ProgressDeadlineExceeded', message), now)
  }
  return [...conditions]
}

export function isComplete({ spec, metadata }: Deployment, status: Status): boolean {
  const wanted = replicasOf(spec)
  const { updatedReplicas = 0, replicas = 0, availableReplicas = 0, observedGeneration = 0 } = status
  return (
    updatedReplicas === wanted &&
    replicas === wanted &&
    availableReplicas === wanted &&
    observedGeneration >= (metadata.generation ?? 0)
  )
}

function hasProgressed(before: Partial<Status>, after: Status): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: Partial<Status>) => replicas - updatedReplicas
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(after) < old(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  )
}

function isTimedOut(deployment: Deployment, before: DeploymentCondition | undefined, now: number): boolean {
  if (!before || before.reason === 'NewReplicaSetAvailable') return false
  if (before.reason === 'ProgressDeadlineExceeded') return true
  const left = untilDeadlineMs(deployment, before, now)
  return left !== undefined && left < 0
}

/** How long until a rollout without progress is late; undefined when it cannot be. */
export function untilDeadlineMs(
  deployment: Deployment,
  progressing: DeploymentCondition | undefined,
  now: number,
): number | undefined {
  const deadline = progressDeadlineMs(deployment)
  if (deadline === undefined || !progressing) return undefined
  if (['NewReplicaSetAvailable', 'ProgressDeadlineExceeded'].includes(progressing.reason ?? '')) return undefined
  const { lastUpdateTime, lastTransitionTime = '' } = progressing
  const since = Date.parse(typeof lastUpdateTime === 'string' ? lastUpdateTime : lastTransitionTime)
  return Number.isNaN(since) ? undefined : since + deadline - now
}

/** Pausing and resuming stop the clock of the rollout's deadline; undefined when neither happened. */
export function pauseHappening(deployment: Deployment): Happening | undefined {
  if (progressDeadlineMs(deployment) === undefined) return undefined
  const before = deployment.status?.conditions?.find(({ type }) => type === 'Progressing')
  if (before?.reason === 'ProgressDeadlineExceeded') return undefined
  const known = before?.reason === 'DeploymentPaused'
  const paused = deployment.spec.paused === true
  if (paused === known) return undefined
  return paused
    ? { status: 'Unknown', reason: 'DeploymentPaused', message: 'Deployment is paused' }
    : { status: 'Unknown', reason: 'DeploymentResumed', message: 'Deployment is resumed' }
}

/** The Deployment with this as the `Progressing` condition of its status. */
export function withHappening(deployment: Deployment, happening: Happening, now: number): Deployment {
  const next = condition('Progressing', happening.status, happening.reason, happening.message)
  const conditions = putUpdated(deployment.status?.conditions ?? [], next, now)
  return { ...deployment, status: { ...deployment.status, conditions } }
}

function condition(type: string, status: Condition['status'], reason?: string, message?: string): Condition {
  return { type, status, ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) }
}

/** Like `putCondition`, but with the time of the last update; the same status for the same reason is not an update. */
function putUpdated(conditions: readonly DeploymentCondition[], next: Condition, now: number): DeploymentCondition[] {
  const before = conditions.find(({ type }) => type === next.type)
  if (before && before.status === next.status && before.reason === next.reason) return [...conditions]
  const transition = before?.status === next.status ? before.lastTransitionTime : undefined
  const times = { lastUpdateTime: timestamp(now), lastTransitionTime: transition ?? timestamp(now) }
  return [...withoutCondition(conditions, next.type), { ...next, ...times }]
}

function withoutConditions({ conditions: _conditions, ...counts }: Status): Status {
  return counts
}
