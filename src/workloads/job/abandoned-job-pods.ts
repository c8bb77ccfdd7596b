import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Job, jobKind } from '../../resources/job.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import type { Pod } from '../../resources/pod.ts'
import { type OwnedObjects, controllerOf } from '../owned/owned-objects.ts'
import { retryConflicts } from '../retry-conflicts.ts'
import { isJobFinished, isTracked } from './job-facts.ts'
import { releaseTracked } from './release-tracked.ts'

export interface AbandonedJobPodsOptions {
  readonly client: ClusterClient
  readonly jobs: ObjectCache<Job>
  readonly pods: ObjectCache<Pod>
  readonly ownedPods: OwnedObjects<Pod>
  readonly clock: Clock
  readonly log: Logger
}

/** Releases Pods held for a Job that no longer exists: nobody else ever would. */
export class AbandonedJobPods {
  readonly #options: AbandonedJobPodsOptions
  readonly #queue: WorkQueue

  constructor(options: AbandonedJobPodsOptions) {
    this.#options = options
    const { clock, log, jobs, pods, ownedPods } = options
    const reconcile = retryConflicts((ref, signal) => this.#reconcile(ref, signal))
    this.#queue = new WorkQueue({ name: 'abandoned-job-pods', clock, log, concurrency: 4, reconcile })
    const add = (pod: Pod) => {
      if (isTracked(pod.metadata.finalizers)) this.#queue.add(refOf(pod))
    }
    jobs.onChange(({ type, object }) => {
      if (type === 'deleted' || isJobFinished(object)) for (const pod of ownedPods.of(object.metadata.uid)) add(pod)
    })
    pods.onChange(({ type, object }) => {
      if (type !== 'deleted' && !this.#mayBeCounted(object)) add(object)
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  #mayBeCounted(pod: Pod): boolean {
    const owner = controllerOf(pod)
    if (owner?.kind !== 'Job') return false
    const job = this.#options.jobs.get({ namespace: pod.metadata.namespace, name: owner.name })
    return job !== undefined && job.metadata.uid === owner.uid && !isJobFinished(job)
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const { client, pods } = this.#options
    const pod = pods.get(ref)
    if (!pod || !isTracked(pod.metadata.finalizers) || this.#mayBeCounted(pod)) return
    const owner = controllerOf(pod)
    // Read from the cluster: a Job that is not in the cache yet still counts its Pods.
    const { namespace } = ref
    const job = owner?.kind === 'Job' ? await client.get(jobKind, { namespace, name: owner.name }, signal) : undefined
    if (job && job.metadata.uid === owner?.uid && !isJobFinished(job)) return
    await releaseTracked(client, [pod], signal)
  }
}
