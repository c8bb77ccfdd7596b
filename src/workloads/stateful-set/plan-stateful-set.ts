import { type Pod, isPodReady, isPodTerminating } from '../../resources/pod.ts'
import type { StatefulSet } from '../../resources/stateful-set.ts'
import { isPodAvailable } from '../pods/pod-availability.ts'
import { nonZero } from '../status-fields.ts'
import { ordinalOf, revisionLabel } from './pod-identity.ts'

/** Names of the revisions that Pods may have: the one from before the rollout, and the template's. */
export interface RevisionNames {
  readonly current: string
  readonly update: string
}

export interface PodRemoval {
  readonly pod: Pod
  readonly reason: 'surplus' | 'outdated' | 'Failed' | 'Succeeded'
}

export interface StatefulSetPlan {
  readonly create: readonly { readonly ordinal: number; readonly revision: string }[]
  readonly remove: readonly PodRemoval[]
}

/**
 * What to do next. One thing at a time, lowest ordinal first and highest removed first, unless Pods are managed in
 * parallel.
 */
export function planStatefulSet(
  set: StatefulSet,
  pods: readonly Pod[],
  revisions: RevisionNames,
  now: number,
): StatefulSetPlan {
  const { spec } = set
  const ordered = spec.podManagementPolicy !== 'Parallel'
  const { members, surplus } = divide(set, pods)
  const isSound = (pod: Pod) =>
    pod.status?.phase === 'Running' && !isPodTerminating(pod) && isPodAvailable(pod, spec.minReadySeconds ?? 0, now)
  const create: { ordinal: number; revision: string }[] = []
  const remove: PodRemoval[] = []
  let ending = false
  for (const [ordinal, pod] of members) {
    const phase = pod?.status?.phase
    if (!pod) create.push({ ordinal, revision: revisionFor(set, ordinal, revisions) })
    else if (phase === 'Failed' || phase === 'Succeeded') {
      // It is created again when it is gone.
      if (!isPodTerminating(pod)) remove.push({ pod, reason: phase })
      if (ordered) return { create, remove }
      ending = true
    } else if (ordered && !isSound(pod)) return { create, remove }
    if (ordered && !pod) return { create, remove }
  }
  if (ending) return { create, remove }
  const firstUnsound = [...members.values(), ...surplus.toReversed()].find((pod) => pod && !isSound(pod))
  for (const pod of surplus) {
    if (ordered && (isPodTerminating(pod) || (!isSound(pod) && pod !== firstUnsound))) return { create, remove }
    if (!isPodTerminating(pod)) remove.push({ pod, reason: 'surplus' })
    if (ordered) return { create, remove }
  }
  if (create.length > 0) return { create, remove }
  const outdated = nextOutdated(set, members, revisions, isSound)
  return { create, remove: outdated ? [...remove, { pod: outdated, reason: 'outdated' }] : remove }
}

/** The highest Pod that does not have the template's revision, once all above it are healthy. */
function nextOutdated(
  { spec }: StatefulSet,
  members: ReadonlyMap<number, Pod | undefined>,
  { update }: RevisionNames,
  isSound: (pod: Pod) => boolean,
): Pod | undefined {
  if (spec.updateStrategy?.type === 'OnDelete') return undefined
  const from = (spec.ordinals?.start ?? 0) + partitionOf(spec)
  for (const [ordinal, pod] of [...members].toReversed()) {
    if (ordinal < from || !pod) return undefined
    if (pod.metadata.labels?.[revisionLabel] !== update) return isPodTerminating(pod) ? undefined : pod
    if (!isSound(pod)) return undefined
  }
  return undefined
}

function divide({ spec, metadata }: StatefulSet, pods: readonly Pod[]) {
  const start = spec.ordinals?.start ?? 0
  const end = start + (spec.replicas ?? 1)
  const members = new Map<number, Pod | undefined>()
  for (let ordinal = start; ordinal < end; ordinal += 1) members.set(ordinal, undefined)
  const surplus: { readonly pod: Pod; readonly ordinal: number }[] = []
  for (const pod of pods) {
    const ordinal = ordinalOf(metadata.name, pod)
    if (ordinal === undefined) continue
    if (members.has(ordinal)) members.set(ordinal, pod)
    else surplus.push({ pod, ordinal })
  }
  return { members, surplus: surplus.sort((a, b) => b.ordinal - a.ordinal).map(({ pod }) => pod) }
}

/** Pods below the partition keep their revision. */
function revisionFor({ spec }: StatefulSet, ordinal: number, { current, update }: RevisionNames): string {
  if (spec.updateStrategy?.type === 'OnDelete') return update
  return ordinal < (spec.ordinals?.start ?? 0) + partitionOf(spec) ? current : update
}

function partitionOf({ updateStrategy }: StatefulSet['spec']): number {
  return updateStrategy?.rollingUpdate?.partition ?? 0
}

type Status = NonNullable<StatefulSet['status']>

export function statefulSetStatus(
  set: StatefulSet,
  pods: readonly Pod[],
  revisions: RevisionNames,
  collisionCount: number,
  now: number,
): Status {
  const { minReadySeconds = 0, updateStrategy } = set.spec
  const running = pods.filter(({ status }) => status?.phase === 'Running')
  const staying = pods.filter((pod) => !isPodTerminating(pod))
  const of = (revision: string) =>
    staying.filter(({ metadata }) => metadata.labels?.[revisionLabel] === revision).length
  const ready = running.filter(isPodReady).length
  const updated = of(revisions.update)
  // Every Pod has the new revision and is ready: the rollout is over.
  const done = updateStrategy?.type !== 'OnDelete' && updated === pods.length && ready === pods.length
  const current = done ? revisions.update : revisions.current
  return {
    replicas: pods.length,
    availableReplicas: running.filter((pod) => isPodAvailable(pod, minReadySeconds, now)).length,
    ...nonZero({
      observedGeneration: set.metadata.generation,
      readyReplicas: ready,
      currentReplicas: of(current),
      updatedReplicas: updated,
    }),
    currentRevision: current,
    updateRevision: revisions.update,
    collisionCount,
  }
}
