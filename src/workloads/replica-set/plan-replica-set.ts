import { timestamp } from '../../resources/kubernetes-object.ts'
import type { Pod } from '../../resources/pod.ts'
import { isPodReady } from '../../resources/pod.ts'
import type { ReplicaSet } from '../../resources/replica-set.ts'
import { isPodAvailable } from '../pods/pod-availability.ts'
import { rankForDeletion } from '../pods/rank-pods.ts'
import { conditionsField, nonZero, withoutCondition } from '../status-fields.ts'

/** The most Pods that are created or deleted in one go. */
const mostAtOnce = 500

export interface ReplicaSetPlan {
  readonly create: number
  readonly delete: readonly Pod[]
}

/**
 * What is missing and what is too much. `active` are its Pods that are neither finished nor being deleted; `neighbours`
 * are those and the Pods of its siblings, which show where many of a kind run together.
 */
export function planReplicaSet(
  replicaSet: ReplicaSet,
  active: readonly Pod[],
  neighbours: () => readonly Pod[],
  now: number,
): ReplicaSetPlan {
  const wanted = replicaSet.spec.replicas ?? 1
  const surplus = active.length - wanted
  if (surplus <= 0) return { create: Math.min(wanted - active.length, mostAtOnce), delete: [] }
  const count = Math.min(surplus, mostAtOnce)
  const chosen = surplus < active.length ? rankForDeletion(active, neighbours(), now) : active
  return { create: 0, delete: chosen.slice(0, count) }
}

export interface ReplicaFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete'
  readonly message: string
}

type Status = NonNullable<ReplicaSet['status']>

export function replicaSetStatus(
  replicaSet: ReplicaSet,
  active: readonly Pod[],
  failure: ReplicaFailure | undefined,
  now: number,
): Status {
  const { minReadySeconds = 0, template } = replicaSet.spec
  const labels = Object.entries(template.metadata?.labels ?? {})
  const isFullyLabelled = ({ metadata }: Pod) => labels.every(([key, value]) => metadata.labels?.[key] === value)
  return {
    replicas: active.length,
    ...nonZero({
      fullyLabeledReplicas: active.filter(isFullyLabelled).length,
      readyReplicas: active.filter(isPodReady).length,
      availableReplicas: active.filter((pod) => isPodAvailable(pod, minReadySeconds, now)).length,
      observedGeneration: replicaSet.metadata.generation,
    }),
    ...conditionsField(withFailure(replicaSet, failure, now)),
  }
}

/** The first failure stands until there is none. */
function withFailure(replicaSet: ReplicaSet, failure: ReplicaFailure | undefined, now: number) {
  const conditions = replicaSet.status?.conditions ?? []
  const others = withoutCondition(conditions, 'ReplicaFailure')
  if (!failure) return others
  const known = conditions.find(({ type }) => type === 'ReplicaFailure')
  const made = { type: 'ReplicaFailure', status: 'True' as const, ...failure, lastTransitionTime: timestamp(now) }
  return [...others, known ?? made]
}
