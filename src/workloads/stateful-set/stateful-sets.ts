import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache, ObjectChange } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type ControllerRevision, controllerRevisionKind } from '../../resources/controller-revision.ts'
import { type KubernetesObject, type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import type { PersistentVolumeClaim } from '../../resources/persistent-volume-claim.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { type StatefulSet, statefulSetKind } from '../../resources/stateful-set.ts'
import { adoptObjects, planAdoption } from '../owned/adopt-objects.ts'
import type { Events } from '../../cluster/event-recorder.ts'
import { type OwnedObjects, controllerOf } from '../owned/owned-objects.ts'
import { nextAvailabilityMs } from '../pods/pod-availability.ts'
import { ReplacementPace } from '../pods/replacement-pace.ts'
import { retryConflicts } from '../retry-conflicts.ts'
import { sameStatus } from '../status-fields.ts'
import { type PodRemoval, planStatefulSet, statefulSetStatus } from './plan-stateful-set.ts'
import { ordinalOf } from './pod-identity.ts'
import { type Revisions, surplusRevisions, syncRevisions } from './revision-history.ts'
import { StatefulPodControl } from './stateful-pod-control.ts'
import { ignoreGone } from '../ignore-gone.ts'

export interface StatefulSetsOptions {
  readonly client: ClusterClient
  readonly statefulSets: ObjectCache<StatefulSet>
  readonly revisions: ObjectCache<ControllerRevision>
  readonly ownedRevisions: OwnedObjects<ControllerRevision>
  readonly claims: ObjectCache<PersistentVolumeClaim>
  readonly pods: ObjectCache<Pod>
  readonly ownedPods: OwnedObjects<Pod>
  readonly events: Events
  readonly clock: Clock
  readonly log: Logger
}

/** StatefulSet → Pods with stable names, and their claims. */
export class StatefulSets {
  readonly #options: StatefulSetsOptions
  readonly #queue: WorkQueue
  readonly #control: StatefulPodControl
  readonly #pace = new ReplacementPace()

  constructor(options: StatefulSetsOptions) {
    this.#options = options
    const { client, events, claims, clock, log, statefulSets, pods, revisions } = options
    this.#control = new StatefulPodControl({ client, claims, events })
    const reconcile = retryConflicts((ref, signal) => this.#reconcile(ref, signal))
    this.#queue = new WorkQueue({ name: 'statefulsets', clock, log, concurrency: 4, reconcile })
    statefulSets.onChange(({ object }) => this.#queue.add(refOf(object)))
    pods.onChange((change) => {
      const { type, object, previous } = change
      const owner = controllerOf(object)
      if (owner?.kind === 'StatefulSet' && type !== 'deleted') {
        this.#pace.observe(owner.uid, object, previous, clock.now())
      }
      this.#ownedChanged(change)
    })
    revisions.onChange((change) => this.#ownedChanged(change))
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  #ownedChanged({ object, previous }: ObjectChange<KubernetesObject>): void {
    const { namespace, name } = object.metadata
    for (const owner of [controllerOf(object), previous && controllerOf(previous)]) {
      if (owner?.kind === 'StatefulSet') this.#queue.add({ namespace, name: owner.name })
    }
    // An orphan: only the set whose name it bears can adopt it, if there is one.
    const namesake = { namespace, name: name.replace(/-[^-]*$/, '') }
    if (!controllerOf(object) && this.#options.statefulSets.get(namesake)) this.#queue.add(namesake)
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { client, statefulSets, ownedPods, ownedRevisions, clock } = this.#options
    const set = statefulSets.get(ref)
    if (!set) return {}
    const { name, namespace, uid, deletionTimestamp } = set.metadata
    const isNamed = (pod: Pod) => ordinalOf(name, pod) !== undefined
    const adoption = planAdoption(set, ownedPods.of(uid), ownedPods.orphansIn(namespace).filter(isNamed))
    const pods = await adoptObjects(client, { owner: statefulSetKind, owned: podKind }, set, adoption, signal)
    const known = ownedRevisions.of(uid)
    const revisions = await syncRevisions(client, set, known, signal)
    const names = { current: revisions.current.metadata.name, update: revisions.update.metadata.name }
    // The same time for all, so that what the status does not show as available is looked at again.
    const now = clock.now()
    await this.#writeStatus(set, statefulSetStatus(set, pods, names, revisions.collisionCount, now), signal)
    if (deletionTimestamp !== undefined) return {}
    const plan = planStatefulSet(set, pods, names, now)
    const waitMs = this.#pace.waitMs(uid ?? '', set.spec.replicas ?? 1, now)
    const isDue = ({ reason }: PodRemoval) => waitMs === 0 || (reason !== 'Failed' && reason !== 'Succeeded')
    const due = plan.remove.filter(isDue)
    for (const removal of due) await this.#control.remove(set, removal, signal)
    for (const { ordinal, revision } of plan.create) {
      const chosen = revision === names.update ? revisions.update : revisions.current
      await this.#control.create(set, ordinal, chosen, signal)
    }
    await this.#control.keep(set, pods, signal)
    await this.#forgetRevisions(set, revisions, known, pods, signal)
    const available = nextAvailabilityMs(pods, set.spec.minReadySeconds ?? 0, now) ?? Infinity
    const requeueAfterMs = Math.min(available, due.length < plan.remove.length ? waitMs : Infinity)
    return requeueAfterMs === Infinity ? {} : { requeueAfterMs }
  }

  async #forgetRevisions(
    set: StatefulSet,
    revisions: Revisions,
    known: readonly ControllerRevision[],
    pods: readonly Pod[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const surplus of surplusRevisions(set, revisions, known, pods)) {
      const { uid } = surplus.metadata
      await this.#options.client.delete(controllerRevisionKind, refOf(surplus), { uid }, signal).catch(ignoreGone)
    }
  }

  async #writeStatus(set: StatefulSet, status: NonNullable<StatefulSet['status']>, signal: AbortSignal): Promise<void> {
    if (sameStatus(status, set.status)) return
    await this.#options.client.updateStatus(statefulSetKind, { ...set, status }, signal).catch(ignoreGone)
  }
}
