import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache, ObjectChange } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { type ReplicaSet, replicaSetKind } from '../../resources/replica-set.ts'
import { selects } from '../../resources/validation/label-selector-rules.ts'
import { adoptObjects, planAdoption } from '../owned/adopt-objects.ts'
import type { Events } from '../../cluster/event-recorder.ts'
import { type OwnedObjects, controllerOf } from '../owned/owned-objects.ts'
import { isPodActive, nextAvailabilityMs } from '../pods/pod-availability.ts'
import { ExpectedPods } from '../pods/expected-pods.ts'
import { isNamespaceEnding, told } from '../pods/pod-control.ts'
import { ReplacementPace } from '../pods/replacement-pace.ts'
import { retryConflicts } from '../retry-conflicts.ts'
import { sameStatus } from '../status-fields.ts'
import { type ReplicaFailure, planReplicaSet, replicaSetStatus } from './plan-replica-set.ts'
import { ignoreGone } from '../ignore-gone.ts'

export interface ReplicaSetsOptions {
  readonly client: ClusterClient
  readonly replicaSets: ObjectCache<ReplicaSet>
  readonly ownedReplicaSets: OwnedObjects<ReplicaSet>
  readonly pods: ObjectCache<Pod>
  readonly ownedPods: OwnedObjects<Pod>
  readonly events: Events
  readonly clock: Clock
  readonly log: Logger
}

/** ReplicaSet → Pods. */
export class ReplicaSets {
  readonly #options: ReplicaSetsOptions
  readonly #queue: WorkQueue
  readonly #expectedPods: ExpectedPods
  readonly #pace = new ReplacementPace()

  constructor(options: ReplicaSetsOptions) {
    this.#options = options
    const { client, events, clock, log, replicaSets, pods } = options
    this.#expectedPods = new ExpectedPods({ client, events, clock })
    const reconcile = retryConflicts((ref, signal) => this.#reconcile(ref, signal))
    this.#queue = new WorkQueue({ name: 'replicasets', clock, log, concurrency: 8, reconcile })
    replicaSets.onChange(({ type, object }) => {
      if (type === 'deleted') this.#expectedPods.ownerDeleted(object)
      this.#queue.add(refOf(object))
    })
    pods.onChange((change) => {
      this.#expectedPods.podChanged(change)
      this.#podChanged(change)
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  #podChanged({ type, object, previous }: ObjectChange<Pod>): void {
    const { namespace } = object.metadata
    const owner = controllerOf(object)
    const before = previous && controllerOf(previous)
    if (before && before.uid !== owner?.uid && before.kind === 'ReplicaSet') {
      this.#queue.add({ namespace, name: before.name })
    }
    if (owner) {
      if (owner.kind !== 'ReplicaSet') return
      if (type !== 'deleted') this.#pace.observe(owner.uid, object, previous, this.#options.clock.now())
      this.#queue.add({ namespace, name: owner.name })
      return
    }
    if (type === 'deleted' || (previous && !before && sameStatus(previous.metadata.labels, object.metadata.labels)))
      return
    // An orphan: any ReplicaSet that selects it may adopt it.
    for (const replicaSet of this.#options.replicaSets.list()) {
      if (replicaSet.metadata.namespace !== namespace) continue
      if (selects(replicaSet.spec.selector, object.metadata.labels ?? {})) this.#queue.add(refOf(replicaSet))
    }
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { client, replicaSets, ownedPods, clock } = this.#options
    const replicaSet = replicaSets.get(ref)
    if (!replicaSet) return {}
    const { uid = '', deletionTimestamp } = replicaSet.metadata
    // Asked before the Pods are read: a change in between can only make it too careful.
    const mayManage = this.#expectedPods.allShown(replicaSet)
    const adoption = planAdoption(replicaSet, ownedPods.of(uid), ownedPods.orphansIn(ref.namespace).filter(isPodActive))
    const kinds = { owner: replicaSetKind, owned: podKind }
    const active = (await adoptObjects(client, kinds, replicaSet, adoption, signal)).filter(isPodActive)
    const managing = mayManage && deletionTimestamp === undefined
    const outcome = managing ? await this.#manage(replicaSet, active, signal) : {}
    // The same time for both, so that what the status does not show as available is looked at again.
    const now = clock.now()
    const status = replicaSetStatus(replicaSet, active, outcome.failure, now)
    if (!sameStatus(status, replicaSet.status)) {
      await client.updateStatus(replicaSetKind, { ...replicaSet, status }, signal).catch(ignoreGone)
    }
    if (outcome.error !== undefined) throw outcome.error
    const available = nextAvailabilityMs(active, replicaSet.spec.minReadySeconds ?? 0, now) ?? Infinity
    const requeueAfterMs = Math.min(available, outcome.waitMs ?? Infinity)
    return requeueAfterMs === Infinity ? {} : { requeueAfterMs }
  }

  async #manage(
    replicaSet: ReplicaSet,
    active: readonly Pod[],
    signal: AbortSignal,
  ): Promise<{ failure?: ReplicaFailure; error?: unknown; waitMs?: number }> {
    const neighbours = () => this.#neighbours(replicaSet, active)
    const now = this.#options.clock.now()
    const plan = planReplicaSet(replicaSet, active, neighbours, now)
    const waitMs = this.#pace.waitMs(replicaSet.metadata.uid ?? '', replicaSet.spec.replicas ?? 1, now)
    if (plan.create > 0 && waitMs > 0) return { waitMs }
    const { template } = replicaSet.spec
    const missing = Array.from({ length: plan.create }, () => ({ template }))
    const error = await (missing.length > 0
      ? this.#expectedPods.create(replicaSet, missing, signal)
      : this.#expectedPods.delete(replicaSet, plan.delete, signal))
    if (error === undefined || isNamespaceEnding(error)) return {}
    const reason = plan.create > 0 ? 'FailedCreate' : 'FailedDelete'
    return { failure: { reason, message: told(error) }, error }
  }

  /** Its Pods and those of the ReplicaSets of the same owner. */
  #neighbours(replicaSet: ReplicaSet, active: readonly Pod[]): readonly Pod[] {
    const { ownedReplicaSets, ownedPods } = this.#options
    const owner = controllerOf(replicaSet)
    if (!owner) return active
    const siblings = ownedReplicaSets.of(owner.uid)
    return siblings.flatMap(({ metadata }) => ownedPods.of(metadata.uid)).filter(isPodActive)
  }
}
