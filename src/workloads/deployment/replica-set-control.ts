import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { type Deployment, deploymentKind } from '../../resources/deployment.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import { type ReplicaSet, replicaSetKind } from '../../resources/replica-set.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { controllerReference } from '../owned/adopt-objects.ts'
import type { Events } from '../../cluster/event-recorder.ts'
import { controllerOf } from '../owned/owned-objects.ts'
import { told } from '../pods/pod-control.ts'
import { sameStatus } from '../status-fields.ts'
import { templateHash } from '../template-hash.ts'
import { withHappening } from './deployment-status.ts'
import type { Resize } from './proportional-sizes.ts'
import {
  type Sets,
  currentAnnotations,
  findCurrent,
  hashLabel,
  byRevision,
  nextRevision,
  revisionAnnotation,
  sizeAnnotations,
} from './revisions.ts'
import { progressDeadlineMs, replicasOf, rolloutLimits } from './rollout-limits.ts'
import { ignoreGoneOrChanged } from '../ignore-gone.ts'

/** Creates, resizes and deletes a Deployment's ReplicaSets, and records Events about it. */
export class ReplicaSetControl {
  readonly #client: ClusterClient
  readonly #events: Events

  constructor(client: ClusterClient, events: Events) {
    this.#client = client
    this.#events = events
  }

  /** Undefined when another template has the name: the next attempt uses another one. */
  async create(
    deployment: Deployment,
    old: readonly ReplicaSet[],
    replicas: number,
    now: number,
    signal: AbortSignal,
  ): Promise<{ deployment: Deployment; set: ReplicaSet } | undefined> {
    const revision = nextRevision(old)
    const wanted = newReplicaSet(deployment, replicas, revision)
    const { name } = wanted.metadata
    try {
      const set = await this.#client.create(replicaSetKind, wanted, signal)
      if (replicas > 0) this.#tell(deployment, set, 0, replicas)
      const message = `Created new replica set "${name}"`
      return { deployment: await this.#announce(deployment, revision, message, now, signal), set }
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists')) return this.#meet(deployment, name, now, signal)
      if (progressDeadlineMs(deployment) !== undefined && isStatusError(error)) {
        const message = `Failed to create new replica set "${name}": ${told(error)}`
        this.#events.record(deployment, 'Warning', 'ReplicaSetCreateError', message)
        const said = withHappening(deployment, { status: 'False', reason: 'ReplicaSetCreateError', message }, now)
        await this.#client.updateStatus(deploymentKind, said, signal)
      }
      throw error
    }
  }

  async #announce(deployment: Deployment, revision: bigint, message: string, now: number, signal: AbortSignal) {
    const { uid } = deployment.metadata
    const metadata = { uid, annotations: { [revisionAnnotation]: String(revision) } }
    const said = await this.#client.patch(deploymentKind, refOf(deployment), { metadata }, signal)
    if (progressDeadlineMs(said) === undefined) return said
    return withHappening(said, { status: 'True', reason: 'NewReplicaSetCreated', message }, now)
  }

  /** The name is taken, by our own ReplicaSet that is not in the cache yet, or by a template with the same hash. */
  async #meet(deployment: Deployment, name: string, _now: number, signal: AbortSignal): Promise<undefined> {
    const { namespace } = deployment.metadata
    const there = await this.#client.get(replicaSetKind, { namespace, name }, signal)
    if (!there) return undefined
    if (controllerOf(there)?.uid === deployment.metadata.uid && findCurrent(deployment, [there]).current)
      return undefined
    const collisionCount = (deployment.status?.collisionCount ?? 0) + 1
    const status = { ...deployment.status, collisionCount }
    await this.#client.updateStatus(deploymentKind, { ...deployment, status }, signal)
    return undefined
  }

  /** Gives the current ReplicaSet the Deployment's annotations and the newest revision. */
  async annotate(deployment: Deployment, set: ReplicaSet, revision: bigint, signal: AbortSignal): Promise<ReplicaSet> {
    const annotations = currentAnnotations(deployment, set, revision)
    const { minReadySeconds = 0 } = deployment.spec
    if (sameStatus(annotations, set.metadata.annotations) && minReadySeconds === (set.spec.minReadySeconds ?? 0)) {
      return set
    }
    const { uid, resourceVersion } = set.metadata
    const patch = { metadata: { uid, resourceVersion, annotations }, spec: { minReadySeconds } }
    return this.#client.patch(replicaSetKind, refOf(set), patch, signal)
  }

  /** Returns the sets as they are now. */
  async resize(deployment: Deployment, sets: Sets, resizes: readonly Resize[], signal: AbortSignal): Promise<Sets> {
    const written = new Map<ReplicaSet, ReplicaSet>()
    for (const { set, replicas } of resizes) {
      const annotations = sizesFor(deployment)
      const had = set.metadata.annotations ?? {}
      const before = replicasOf(set.spec)
      const same = Object.entries(annotations).every(([name, value]) => had[name] === value)
      if (before === replicas && same) continue
      const { uid, resourceVersion } = set.metadata
      const patch = { metadata: { uid, resourceVersion, annotations }, spec: { replicas } }
      written.set(set, await this.#client.patch(replicaSetKind, refOf(set), patch, signal))
      if (before !== replicas) this.#tell(deployment, set, before, replicas)
    }
    const now = (set: ReplicaSet) => written.get(set) ?? set
    return { current: sets.current && now(sets.current), old: sets.old.map(now) }
  }

  /** Deletes empty old ReplicaSets beyond the history limit, oldest revisions first. */
  async cleanUp({ spec }: Deployment, old: readonly ReplicaSet[], signal: AbortSignal): Promise<void> {
    const alive = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    const surplus = alive.length - (spec.revisionHistoryLimit ?? 10)
    if (surplus <= 0) return
    const oldest = alive.toSorted(byRevision).slice(0, surplus)
    for (const set of oldest) {
      const { status, metadata } = set
      const empty = replicasOf(set.spec) === 0 && (status?.replicas ?? 0) === 0
      if (!empty || (metadata.generation ?? 0) > (status?.observedGeneration ?? 0)) continue
      await this.#client
        .delete(replicaSetKind, refOf(set), { uid: metadata.uid, propagation: 'Background' }, signal)
        .catch(ignoreGoneOrChanged)
    }
  }

  #tell(deployment: Deployment, { metadata }: ReplicaSet, before: number, after: number): void {
    const way = after > before ? 'up' : 'down'
    const message = `Scaled ${way} replica set ${metadata.name} from ${before} to ${after}`
    this.#events.record(deployment, 'Normal', 'ScalingReplicaSet', message)
  }
}

function newReplicaSet(deployment: Deployment, replicas: number, revision: bigint) {
  const { template, selector, minReadySeconds } = deployment.spec
  const hash = templateHash(template, deployment.status?.collisionCount)
  const labels = { ...template.metadata?.labels, [hashLabel]: hash }
  return {
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      ...(deployment.metadata.namespace !== undefined && { namespace: deployment.metadata.namespace }),
      labels,
      annotations: { ...currentAnnotations(deployment, undefined, revision), ...sizesFor(deployment) },
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas,
      ...(minReadySeconds !== undefined && { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  }
}

function sizesFor(deployment: Deployment): Record<string, string> {
  const desired = replicasOf(deployment.spec)
  return sizeAnnotations(desired, desired + rolloutLimits(deployment).surge)
}
