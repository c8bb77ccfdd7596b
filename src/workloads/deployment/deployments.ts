import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Deployment, deploymentKind } from '../../resources/deployment.ts'
import { type KubernetesObject, type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import { type Pod, isPodFinished } from '../../resources/pod.ts'
import { type ReplicaSet, replicaSetKind } from '../../resources/replica-set.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { selects } from '../../resources/validation/label-selector-rules.ts'
import { adoptObjects, planAdoption } from '../owned/adopt-objects.ts'
import type { Events } from '../../cluster/event-recorder.ts'
import { type OwnedObjects, controllerOf } from '../owned/owned-objects.ts'
import { retryConflicts } from '../retry-conflicts.ts'
import { sameStatus } from '../status-fields.ts'
import {
  countedStatus,
  isComplete,
  pauseHappening,
  rolloutStatus,
  untilDeadlineMs,
  withHappening,
} from './deployment-status.ts'
import { isScaled, planRollout } from './plan-rollout.ts'
import { ReplicaSetControl } from './replica-set-control.ts'
import { type Sets, findCurrent, nextRevision, revisionAnnotation, revisionOf } from './revisions.ts'
import { isRecreate } from './rollout-limits.ts'

export interface DeploymentsOptions {
  readonly client: ClusterClient
  readonly deployments: ObjectCache<Deployment>
  readonly replicaSets: ObjectCache<ReplicaSet>
  readonly ownedReplicaSets: OwnedObjects<ReplicaSet>
  readonly pods: ObjectCache<Pod>
  readonly ownedPods: OwnedObjects<Pod>
  readonly events: Events
  readonly clock: Clock
  readonly log: Logger
}

/** Deployment → ReplicaSets. */
export class Deployments {
  readonly #options: DeploymentsOptions
  readonly #queue: WorkQueue
  readonly #control: ReplicaSetControl

  constructor(options: DeploymentsOptions) {
    this.#options = options
    const { client, events, clock, log, deployments, replicaSets, pods } = options
    this.#control = new ReplicaSetControl(client, events)
    const reconcile = retryConflicts((ref, signal) => this.#reconcile(ref, signal))
    this.#queue = new WorkQueue({ name: 'deployments', clock, log, concurrency: 4, reconcile })
    deployments.onChange(({ object }) => this.#queue.add(refOf(object)))
    replicaSets.onChange(({ object, previous }) => {
      const owners = [controllerOf(object), previous && controllerOf(previous)]
      for (const owner of owners) this.#wake(object.metadata.namespace, owner)
      if (!controllerOf(object)) this.#wakeSelecting(object)
    })
    pods.onChange(({ type, object }) => {
      // Recreate waits for the last of the old Pods.
      if (type !== 'deleted' && !isPodFinished(object)) return
      const { namespace } = object.metadata
      const owner = controllerOf(object)
      const replicaSet = owner?.kind === 'ReplicaSet' ? replicaSets.get({ namespace, name: owner.name }) : undefined
      if (replicaSet) this.#wake(namespace, controllerOf(replicaSet), ({ spec }) => isRecreate(spec))
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  #wake(
    namespace: string | undefined,
    owner: { readonly kind: string; readonly name: string } | undefined,
    when: (deployment: Deployment) => boolean = () => true,
  ): void {
    if (owner?.kind !== 'Deployment') return
    const deployment = this.#options.deployments.get({ namespace, name: owner.name })
    if (deployment && when(deployment)) this.#queue.add(refOf(deployment))
  }

  #wakeSelecting({ metadata }: KubernetesObject): void {
    for (const deployment of this.#options.deployments.list()) {
      if (deployment.metadata.namespace !== metadata.namespace) continue
      if (selects(deployment.spec.selector, metadata.labels ?? {})) this.#queue.add(refOf(deployment))
    }
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { client, deployments, ownedReplicaSets, clock } = this.#options
    let deployment = deployments.get(ref)
    if (!deployment) return {}
    const adoption = planAdoption(
      deployment,
      ownedReplicaSets.of(deployment.metadata.uid),
      ownedReplicaSets.orphansIn(ref.namespace),
    )
    const kinds = { owner: deploymentKind, owned: replicaSetKind }
    const owned = await adoptObjects(client, kinds, deployment, adoption, signal)
    const sets = findCurrent(deployment, owned)
    if (deployment.metadata.deletionTimestamp !== undefined) {
      await this.#writeStatus(deployment, countedStatus(deployment, sets, clock.now()), signal)
      return {}
    }
    const happening = pauseHappening(deployment)
    if (happening) {
      const paused = withHappening(deployment, happening, clock.now())
      deployment = await client.updateStatus(deploymentKind, paused, signal)
    }
    return this.#advance(deployment, sets, signal)
  }

  async #advance(before: Deployment, found: Sets, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { clock } = this.#options
    const { deployment, sets } = await this.#syncRevision(before, found, signal)
    const still = deployment.spec.paused === true || isScaled(deployment, sets)
    const step = planRollout(deployment, sets, this.#oldPodsRun(deployment, sets))
    if (step.type === 'create') {
      const created = await this.#control.create(deployment, sets.old, step.replicas, clock.now(), signal)
      // The new ReplicaSet appears in the cache, which triggers the next step.
      if (created)
        await this.#writeStatus(
          created.deployment,
          rolloutStatus(created.deployment, { ...sets, current: created.set }, clock.now()),
          signal,
        )
      return {}
    }
    const resized = step.type === 'resize' ? await this.#control.resize(deployment, sets, step.resizes, signal) : sets
    const now = clock.now()
    const status = still ? countedStatus(deployment, resized, now) : rolloutStatus(deployment, resized, now)
    if (step.type === 'settled' && (deployment.spec.paused === true || isComplete(deployment, status))) {
      await this.#control.cleanUp(deployment, sets.old, signal)
    }
    await this.#writeStatus(deployment, status, signal)
    const progressing = status.conditions?.find(({ type }) => type === 'Progressing')
    const left = still ? undefined : untilDeadlineMs(deployment, progressing, now)
    return left === undefined ? {} : { requeueAfterMs: Math.max(0, left) + 1000 }
  }

  /** Gives the current ReplicaSet the newest revision, and notes it in the Deployment. */
  async #syncRevision(deployment: Deployment, sets: Sets, signal: AbortSignal) {
    const { client, clock } = this.#options
    if (!sets.current) return { deployment, sets }
    const revision = nextRevision(sets.old)
    const current = await this.#control.annotate(deployment, sets.current, revision, signal)
    const shown = String(revisionOf(current))
    let said = deployment
    if (deployment.metadata.annotations?.[revisionAnnotation] !== shown) {
      const { uid } = deployment.metadata
      const metadata = { uid, annotations: { [revisionAnnotation]: shown } }
      said = await client.patch(deploymentKind, refOf(deployment), { metadata }, signal)
    }
    const known = said.status?.conditions?.some(({ type }) => type === 'Progressing') ?? false
    if (!known && said.spec.progressDeadlineSeconds !== undefined) {
      const message = `Found new replica set "${current.metadata.name}"`
      said = withHappening(said, { status: 'True', reason: 'FoundNewReplicaSet', message }, clock.now())
    }
    return { deployment: said, sets: { current, old: sets.old } }
  }

  #oldPodsRun(deployment: Deployment, { old }: Sets): boolean {
    if (!isRecreate(deployment.spec)) return false
    return old.some(({ metadata }) => this.#options.ownedPods.of(metadata.uid).some((pod) => !isPodFinished(pod)))
  }

  async #writeStatus(deployment: Deployment, status: NonNullable<Deployment['status']>, signal: AbortSignal) {
    const { client, deployments } = this.#options
    if (sameStatus(status, deployments.get(refOf(deployment))?.status)) return
    try {
      await client.updateStatus(deploymentKind, { ...deployment, status }, signal)
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }
}
