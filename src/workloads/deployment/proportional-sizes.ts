import type { Deployment } from '../../resources/deployment.ts'
import type { ReplicaSet } from '../../resources/replica-set.ts'
import { byAge, maxReplicas } from './revisions.ts'
import { replicasOf, rolloutLimits } from './rollout-limits.ts'

export interface Resize {
  readonly set: ReplicaSet
  readonly replicas: number
}

/** Spreads a change of size over the active ReplicaSets by their share, so that no revision carries all the risk. */
export function proportionalSizes(deployment: Deployment, sets: readonly ReplicaSet[]): Resize[] {
  const active = sets.filter(({ spec }) => replicasOf(spec) > 0)
  const replicas = replicasOf(deployment.spec)
  const allowed = replicas > 0 ? replicas + rolloutLimits(deployment).surge : 0
  const toAdd = allowed - active.reduce((sum, { spec }) => sum + replicasOf(spec), 0)
  // The largest first; among equals the younger ones grow and the older ones shrink.
  const sorted = active.toSorted(
    (left, right) =>
      replicasOf(right.spec) - replicasOf(left.spec) || (toAdd > 0 ? byAge(right, left) : byAge(left, right)),
  )
  let added = 0
  const shares = sorted.map((set) => {
    const share = toAdd === 0 ? 0 : shareOf(deployment, set, toAdd, added)
    added += share
    return { set, replicas: replicasOf(set.spec) + share }
  })
  // What rounding leaves over goes to the largest.
  return shares.map(({ set, replicas: size }, index) => ({
    set,
    replicas: index === 0 ? Math.max(0, size + toAdd - added) : size,
  }))
}

function shareOf(deployment: Deployment, set: ReplicaSet, toAdd: number, added: number): number {
  const left = toAdd - added
  if (left === 0) return 0
  const share = fractionOf(deployment, set)
  return toAdd > 0 ? Math.min(share, left) : Math.max(share, left)
}

function fractionOf(deployment: Deployment, set: ReplicaSet): number {
  const replicas = replicasOf(deployment.spec)
  const size = replicasOf(set.spec)
  if (replicas === 0) return -size
  const before = Number(set.metadata.annotations?.[maxReplicas] ?? 0) || (deployment.status?.replicas ?? 0)
  if (before === 0) return 0
  const most = replicas + rolloutLimits(deployment).surge
  return Math.round((size * most) / before) - size
}
