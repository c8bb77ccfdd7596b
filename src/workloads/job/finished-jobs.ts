import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Job, jobKind } from '../../resources/job.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import { isStatusError } from '../../resources/status-error.ts'

export interface FinishedJobsOptions {
  readonly client: ClusterClient
  readonly jobs: ObjectCache<Job>
  readonly clock: Clock
  readonly log: Logger
}

/** How long a finished Job may still stay; undefined when it has not finished, or may stay for ever. */
export function expiresInMs({ spec, status }: Job, now: number): number | undefined {
  if (spec.ttlSecondsAfterFinished === undefined) return undefined
  const end = status?.conditions?.find(
    ({ type, status: value }) => value === 'True' && (type === 'Complete' || type === 'Failed'),
  )
  const at = Date.parse(end?.lastTransitionTime ?? '')
  return Number.isNaN(at) ? undefined : at + spec.ttlSecondsAfterFinished * 1000 - now
}

/** Deletes finished Jobs, with their Pods, when their time is over. */
export class FinishedJobs {
  readonly #options: FinishedJobsOptions
  readonly #queue: WorkQueue

  constructor(options: FinishedJobsOptions) {
    this.#options = options
    const { clock, log, jobs } = options
    const reconcile = (ref: ObjectRef, signal: AbortSignal) => this.#reconcile(ref, signal)
    this.#queue = new WorkQueue({ name: 'finished-jobs', clock, log, reconcile })
    jobs.onChange(({ type, object }) => {
      if (type !== 'deleted' && expiresInMs(object, clock.now()) !== undefined) this.#queue.add(refOf(object))
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const { client, clock } = this.#options
    // Read from the cluster: its time may have been extended.
    const job = await client.get(jobKind, ref, signal)
    const left = job && expiresInMs(job, clock.now())
    if (!job || left === undefined || job.metadata.deletionTimestamp !== undefined) return {}
    if (left > 0) return { requeueAfterMs: left }
    try {
      const { uid } = job.metadata
      await client.delete(jobKind, refOf(job), { uid, propagation: 'Foreground' }, signal)
    } catch (error) {
      if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
    }
    return {}
  }
}
