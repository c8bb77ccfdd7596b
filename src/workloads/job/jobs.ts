import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache, ObjectChange } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Job, jobKind } from '../../resources/job.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { adoptObjects, planAdoption } from '../owned/adopt-objects.ts'
import type { Events } from '../../cluster/event-recorder.ts'
import { Expectations } from '../owned/expectations.ts'
import { type OwnedObjects, controllerOf } from '../owned/owned-objects.ts'
import { PodControl } from '../pods/pod-control.ts'
import { retryConflicts } from '../retry-conflicts.ts'
import { slowStart } from '../owned/slow-start.ts'
import { sameStatus } from '../status-fields.ts'
import { type JobFacts, isJobFinished, isTracked, jobFacts, withNobodyHeld } from './job-facts.ts'
import { jobPodIdentity, jobPodTemplate } from './job-pod.ts'
import { type JobOutcome, jobStatus } from './job-status.ts'
import { type JobPlan, planJob } from './plan-job.ts'
import { releaseTracked } from './release-tracked.ts'

export interface JobsOptions {
  readonly client: ClusterClient
  readonly jobs: ObjectCache<Job>
  readonly pods: ObjectCache<Pod>
  readonly ownedPods: OwnedObjects<Pod>
  readonly events: Events
  readonly clock: Clock
  readonly log: Logger
}

/** Job → Pods that run to their end. */
export class Jobs {
  readonly #options: JobsOptions
  readonly #queue: WorkQueue
  readonly #expectations: Expectations
  readonly #control: PodControl

  constructor(options: JobsOptions) {
    this.#options = options
    const { client, events, clock, log, jobs, pods } = options
    this.#expectations = new Expectations(clock)
    this.#control = new PodControl(client, events)
    const reconcile = retryConflicts((ref, signal) => this.#reconcile(ref, signal))
    this.#queue = new WorkQueue({ name: 'jobs', clock, log, concurrency: 4, reconcile })
    jobs.onChange(({ type, object }) => {
      if (type === 'deleted') this.#expectations.forget(object.metadata.uid ?? '')
      this.#queue.add(refOf(object))
    })
    pods.onChange((change) => this.#podChanged(change))
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  #podChanged({ type, object, previous }: ObjectChange<Pod>): void {
    const { namespace, uid = '', deletionTimestamp } = object.metadata
    const owner = controllerOf(object)
    for (const each of [owner, previous && controllerOf(previous)]) {
      if (each?.kind === 'Job') this.#queue.add({ namespace, name: each.name })
    }
    if (owner?.kind !== 'Job') return
    if (type === 'added') this.#expectations.creationObserved(owner.uid)
    if (type === 'deleted' || deletionTimestamp !== undefined) this.#expectations.deletionObserved(owner.uid, uid)
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { client, jobs, ownedPods, clock } = this.#options
    const job = jobs.get(ref)
    if (!job || isJobFinished(job)) return {}
    const { managedBy = 'kubernetes.io/job-controller' } = job.spec
    if (managedBy !== 'kubernetes.io/job-controller') return {}
    const { uid = '', deletionTimestamp } = job.metadata
    const mayManage = this.#expectations.satisfied(uid) && deletionTimestamp === undefined
    const adoption = planAdoption(job, ownedPods.of(uid), ownedPods.orphansIn(ref.namespace))
    const pods = await adoptObjects(client, { owner: jobKind, owned: podKind }, job, adoption, signal)
    const found = jobFacts(job, pods)
    const planned = planJob(job, found, pods, clock.now())
    const facts = planned.verdict || deletionTimestamp !== undefined ? withNobodyHeld(job, found) : found
    const plan: JobPlan = mayManage ? planned : { ...planned, create: [], remove: [] }
    await this.#remove(job, plan, signal)
    const outcome = jobStatus(job, facts, plan, pods, clock.now())
    const written = await this.#writeStatus(job, outcome, signal)
    const { newlySucceeded, newlyFailed, newlyIgnored } = facts
    const done = [...newlySucceeded, ...newlyFailed, ...newlyIgnored, ...counted(job, pods)]
    await releaseTracked(client, done, signal)
    if (written) this.#tell(job, plan, outcome)
    const failure = await this.#create(job, plan, facts, signal)
    if (failure !== undefined) throw failure
    return plan.lookAgainMs === undefined ? {} : { requeueAfterMs: Math.max(1, plan.lookAgainMs) }
  }

  async #remove(job: Job, { verdict, remove }: JobPlan, signal: AbortSignal): Promise<void> {
    const { uid: owner = '' } = job.metadata
    // Pods of a Job that goes on do not count as failed when it is we who take them away.
    if (!verdict) await releaseTracked(this.#options.client, remove, signal)
    await Promise.all(
      remove.map(async (pod) => {
        const { uid = '' } = pod.metadata
        this.#expectations.expectDeletion(owner, uid)
        let deleted = false
        try {
          deleted = await this.#control.delete(job, pod, signal)
        } finally {
          if (!deleted) this.#expectations.deletionObserved(owner, uid)
        }
      }),
    )
  }

  async #create(job: Job, { create }: JobPlan, { heldFailed }: JobFacts, signal: AbortSignal): Promise<unknown> {
    if (create.length === 0) return undefined
    const { uid = '' } = job.metadata
    this.#expectations.expectCreations(uid, create.length)
    const indexes = create.values()
    const { skipped, failure } = await slowStart(create.length, async () => {
      const index = indexes.next().value
      try {
        const replaced = index === undefined ? undefined : heldFailed.get(index)
        await this.#control.create(job, jobPodTemplate(job, index), jobPodIdentity(job, index, replaced), signal)
      } catch (error) {
        this.#expectations.creationObserved(uid)
        throw error
      }
    })
    this.#expectations.creationObserved(uid, skipped)
    return failure
  }

  async #writeStatus(job: Job, { status }: JobOutcome, signal: AbortSignal): Promise<boolean> {
    if (sameStatus(status, job.status)) return false
    try {
      await this.#options.client.updateStatus(jobKind, { ...job, status }, signal)
      return true
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return false
      throw error
    }
  }

  #tell(job: Job, { suspended, verdict }: JobPlan, { ended }: JobOutcome): void {
    const { events } = this.#options
    const before = job.status?.conditions?.find(({ type }) => type === 'Suspended')?.status === 'True'
    if (!verdict && suspended && !before) events.record(job, 'Normal', 'Suspended', 'Job suspended')
    if (!verdict && !suspended && before) events.record(job, 'Normal', 'Resumed', 'Job resumed')
    if (ended?.type === 'SuccessCriteriaMet') events.record(job, 'Normal', 'Completed', 'Job completed')
    if (ended?.type === 'FailureTarget') events.record(job, 'Warning', ended.reason, ended.message)
  }
}

/** Named in the status as not counted yet, and still held: an earlier attempt to let them go was interrupted. */
function counted({ status }: Job, pods: readonly Pod[]): readonly Pod[] {
  const { succeeded = [], failed = [] } = status?.uncountedTerminatedPods ?? {}
  const named = new Set([...succeeded, ...failed])
  return named.size === 0
    ? []
    : pods.filter(({ metadata }) => named.has(metadata.uid ?? '') && isTracked(metadata.finalizers))
}
