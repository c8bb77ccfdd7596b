import type { Deployment } from '../../resources/deployment.ts'
import type { ReplicaSet } from '../../resources/replica-set.ts'
import { byAge, desiredReplicas, type Sets } from './revisions.ts'
import { type Resize, proportionalSizes } from './proportional-sizes.ts'
import { isRecreate, replicasOf, rolloutLimits } from './rollout-limits.ts'

/** The next step; the resulting changes trigger the one after it. */
export type RolloutStep =
  /** The ReplicaSet of the template is missing. */
  | { readonly type: 'create'; readonly replicas: number }
  | { readonly type: 'resize'; readonly resizes: readonly Resize[] }
  /** Recreate: Pods of old ReplicaSets have not ended yet. */
  | { readonly type: 'wait' }
  | { readonly type: 'settled' }

const settled: RolloutStep = { type: 'settled' }

/** The next step of a rollout. `oldPodsRun`: whether any Pod of an old ReplicaSet has not ended. */
export function planRollout(deployment: Deployment, sets: Sets, oldPodsRun: boolean): RolloutStep {
  if (deployment.spec.paused === true || isScaled(deployment, sets)) return resize(planScale(deployment, sets))
  return isRecreate(deployment.spec) ? planRecreate(deployment, sets, oldPodsRun) : planRolling(deployment, sets)
}

/** Whether the Deployment's size was changed since its ReplicaSets last got theirs. */
export function isScaled(deployment: Deployment, { current, old }: Sets): boolean {
  return activeOf(current ? [...old, current] : old).some(({ metadata }) => {
    const known = metadata.annotations?.[desiredReplicas]
    return known !== undefined && Number(known) !== replicasOf(deployment.spec)
  })
}

function planRecreate(deployment: Deployment, { current, old }: Sets, oldPodsRun: boolean): RolloutStep {
  const running = activeOf(old)
  if (running.length > 0) return resize(running.map((set) => ({ set, replicas: 0 })))
  if (oldPodsRun) return { type: 'wait' }
  const replicas = replicasOf(deployment.spec)
  if (!current) return { type: 'create', replicas }
  return replicasOf(current.spec) === replicas ? settled : resize([{ set: current, replicas }])
}

function planRolling(deployment: Deployment, sets: Sets): RolloutStep {
  const { current, old } = sets
  const wanted = currentSize(deployment, sets)
  if (!current) return { type: 'create', replicas: wanted }
  if (replicasOf(current.spec) !== wanted) return resize([{ set: current, replicas: wanted }])
  return resize(shrinkOld(deployment, current, old))
}

/** How large the current ReplicaSet may be at the moment. */
function currentSize(deployment: Deployment, { current, old }: Sets): number {
  const replicas = replicasOf(deployment.spec)
  const now = current ? replicasOf(current.spec) : 0
  if (now >= replicas) return replicas
  const total = sizeOf(current ? [...old, current] : old)
  const room = replicas + rolloutLimits(deployment).surge - total
  return room <= 0 ? now : now + Math.min(room, replicas - now)
}

/** Old ReplicaSets shrink as far as enough Pods stay available; their Pods that do not work go first. */
function shrinkOld(deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): Resize[] {
  const active = activeOf(old)
  if (active.length === 0) return []
  const leastAvailable = replicasOf(deployment.spec) - rolloutLimits(deployment).unavailable
  const currentUnavailable = replicasOf(current.spec) - availableOf([current])
  const most = sizeOf([...old, current]) - leastAvailable - currentUnavailable
  if (most <= 0) return []
  const sizes = new Map(active.map((set) => [set, replicasOf(set.spec)]))
  let unhealthy = most
  for (const set of active) {
    const size = sizes.get(set) ?? 0
    const broken = Math.max(0, Math.min(unhealthy, size - availableOf([set])))
    sizes.set(set, size - broken)
    unhealthy -= broken
  }
  let surplus = availableOf([...old, current]) - leastAvailable
  for (const set of active) {
    const size = sizes.get(set) ?? 0
    const fewer = Math.max(0, Math.min(size, surplus))
    sizes.set(set, size - fewer)
    surplus -= fewer
  }
  return [...sizes].flatMap(([set, replicas]) => (replicas === replicasOf(set.spec) ? [] : [{ set, replicas }]))
}

/** A new size while a rollout is paused or in progress: every ReplicaSet grows or shrinks in proportion. */
function planScale(deployment: Deployment, sets: Sets): Resize[] {
  const { current, old } = sets
  const replicas = replicasOf(deployment.spec)
  const only = activeOrLatest(sets)
  if (only) return replicasOf(only.spec) === replicas ? annotated(deployment, only) : [{ set: only, replicas }]
  if (current && isSaturated(deployment, current)) return activeOf(old).map((set) => ({ set, replicas: 0 }))
  return isRecreate(deployment.spec) ? [] : proportionalSizes(deployment, current ? [...old, current] : [...old])
}

/** The size is right, but the annotation that records what it was made for is out of date. */
function annotated(deployment: Deployment, set: ReplicaSet): Resize[] {
  const replicas = replicasOf(deployment.spec)
  const known = set.metadata.annotations?.[desiredReplicas]
  return known !== undefined && Number(known) !== replicas ? [{ set, replicas }] : []
}

/** The only active ReplicaSet; if none is, the current or the youngest; undefined if several are. */
function activeOrLatest({ current, old }: Sets): ReplicaSet | undefined {
  const active = activeOf(current ? [...old, current] : old)
  if (active.length === 0) return current ?? old.at(-1)
  return active.length === 1 ? active[0] : undefined
}

function isSaturated(deployment: Deployment, current: ReplicaSet): boolean {
  const replicas = replicasOf(deployment.spec)
  const desired = Number(current.metadata.annotations?.[desiredReplicas])
  return desired === replicas && replicasOf(current.spec) === replicas && availableOf([current]) === replicas
}

function resize(resizes: readonly Resize[]): RolloutStep {
  return resizes.length === 0 ? settled : { type: 'resize', resizes }
}

export function activeOf(sets: readonly ReplicaSet[]): ReplicaSet[] {
  return sets.filter(({ spec }) => replicasOf(spec) > 0).toSorted(byAge)
}

function sizeOf(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, { spec }) => sum + replicasOf(spec), 0)
}

/** A ReplicaSet that was just shrunk still reports the Pods that are about to go: they do not count. */
function availableOf(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, { spec, status }) => sum + Math.min(status?.availableReplicas ?? 0, replicasOf(spec)), 0)
}
