import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Job, jobKind } from '../../resources/job.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { adoptObjects, planAdoption } from '../owned/adopt-objects.ts'
import type { Events } from '../../cluster/event-recorder.ts'
import { patienceMs } from '../owned/expectations.ts'
import { type OwnedObjects, controllerOf } from '../owned/owned-objects.ts'
import { ExpectedPods } from '../pods/expected-pods.ts'
import { retryConflicts } from '../retry-conflicts.ts'
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
  readonly #expectedPods: ExpectedPods

  constructor(options: JobsOptions) {
    this.#options = options
    const { client, events, clock, log, jobs, pods } = options
    this.#expectedPods = new ExpectedPods({ client, events, clock })
    const reconcile = retryConflicts((ref, signal) => this.#reconcile(ref, signal))
    this.#queue = new WorkQueue({ name: 'jobs', clock, log, concurrency: 4, reconcile })
    jobs.onChange(({ type, object }) => {
      if (type === 'deleted') this.#expectedPods.ownerDeleted(object)
      this.#queue.add(refOf(object))
    })
    pods.onChange((change) => {
      const { object, previous } = change
      for (const owner of [controllerOf(object), previous && controllerOf(previous)]) {
        if (owner?.kind === 'Job') this.#queue.add({ namespace: object.metadata.namespace, name: owner.name })
      }
      this.#expectedPods.podChanged(change)
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { client, jobs, ownedPods, clock } = this.#options
    const job = jobs.get(ref)
    if (!job || isJobFinished(job)) return {}
    const { managedBy = 'kubernetes.io/job-controller' } = job.spec
    if (managedBy !== 'kubernetes.io/job-controller') return {}
    const { uid = '', deletionTimestamp } = job.metadata
    const allShown = this.#expectedPods.allShown(job)
    const adoption = planAdoption(job, ownedPods.of(uid), ownedPods.orphansIn(ref.namespace))
    const pods = await adoptObjects(client, { owner: jobKind, owned: podKind }, job, adoption, signal)
    const found = jobFacts(job, pods)
    const planned = planJob(job, found, pods, clock.now())
    const facts = planned.verdict || deletionTimestamp !== undefined ? withNobodyHeld(job, found) : found
    const mayManage = allShown && deletionTimestamp === undefined
    const plan: JobPlan = mayManage ? planned : { ...planned, create: [], remove: [] }
    await this.#remove(job, plan, signal)
    const outcome = jobStatus(job, facts, plan, { pods, areAll: allShown }, clock.now())
    const written = await this.#writeStatus(job, outcome, signal)
    const { newlySucceeded, newlyFailed, newlyIgnored } = facts
    const done = [...newlySucceeded, ...newlyFailed, ...newlyIgnored, ...counted(job, pods)]
    await releaseTracked(client, done, signal)
    if (written) this.#tell(job, plan, outcome)
    await this.#create(job, plan, facts, signal)
    // If the cache never shows a Pod, because it came and went between two lists, nothing else would ask for a look.
    const lookAgainMs = plan.lookAgainMs ?? (allShown ? undefined : patienceMs)
    return lookAgainMs === undefined ? {} : { requeueAfterMs: Math.max(1, lookAgainMs) }
  }

  async #remove(job: Job, { verdict, remove }: JobPlan, signal: AbortSignal): Promise<void> {
    // Pods of a Job that goes on do not count as failed when the controller itself removes them.
    if (!verdict) await releaseTracked(this.#options.client, remove, signal)
    const failure = await this.#expectedPods.delete(job, remove, signal)
    if (failure !== undefined) throw failure
  }

  async #create(job: Job, { create }: JobPlan, { heldFailed }: JobFacts, signal: AbortSignal): Promise<void> {
    const wanted = create.map((index) => {
      const replaced = index === undefined ? undefined : heldFailed.get(index)
      return { template: jobPodTemplate(job, index), identity: jobPodIdentity(job, index, replaced) }
    })
    const failure = await this.#expectedPods.create(job, wanted, signal)
    if (failure !== undefined) throw failure
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

/** Listed in the status as uncounted and still held: an earlier attempt to release them was interrupted. */
function counted({ status }: Job, pods: readonly Pod[]): readonly Pod[] {
  const { succeeded = [], failed = [] } = status?.uncountedTerminatedPods ?? {}
  const named = new Set([...succeeded, ...failed])
  return named.size === 0
    ? []
    : pods.filter(({ metadata }) => named.has(metadata.uid ?? '') && isTracked(metadata.finalizers))
}
