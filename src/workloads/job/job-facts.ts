import type { Job } from '../../resources/job.ts'
import { type Pod, isPodReady, isPodTerminating } from '../../resources/pod.ts'
import { indexOf, parseIndexes } from './completion-indexes.ts'
import { isIgnored } from './failure-policy.ts'
import { failedIndexes, heldForIndex } from './index-failures.ts'

/** Holds a finished Pod until it is counted: if it were deleted before, it would be run again. */
export const trackingFinalizer = 'batch.kubernetes.io/job-tracking'

export interface JobFacts {
  readonly active: readonly Pod[]
  readonly ready: number
  /** Being deleted, but not finished. */
  readonly terminating: number
  readonly succeeded: number
  readonly failed: number
  /** Finished, but not counted yet. */
  readonly newlySucceeded: readonly Pod[]
  readonly newlyFailed: readonly Pod[]
  /** Failed in a way that the Job does not count: they are simply released. */
  readonly newlyIgnored: readonly Pod[]
  /** Failed, and kept uncounted until replaced, by index. */
  readonly heldFailed: ReadonlyMap<number, Pod>
  /** For an indexed Job: the indexes that succeeded, including new ones. */
  readonly completed: ReadonlySet<number>
  /** For a Job that counts failures per index: those that will not be retried, including new ones. */
  readonly failedIndexes: ReadonlySet<number>
}

/** What is known about a Job: the counts in its status, and what its Pods add to them. */
export function jobFacts(job: Job, pods: readonly Pod[]): JobFacts {
  const { status } = job
  const { succeeded: waitingSucceeded = [], failed: waitingFailed = [] } = status?.uncountedTerminatedPods ?? {}
  const waiting = new Set([...waitingSucceeded, ...waitingFailed])
  const fresh = pods.filter(({ metadata }) => isTracked(metadata.finalizers) && !waiting.has(metadata.uid ?? ''))
  const newlySucceeded = fresh.filter((pod) => pod.status?.phase === 'Succeeded')
  const freshFailed = fresh.filter((pod) => countsAsFailed(job, pod))
  const active = pods.filter((pod) => isRunning(pod) && !isPodTerminating(pod))
  const completed = completedIndexes(job, newlySucceeded)
  const lost = failedIndexes(job, freshFailed)
  const activeIndexes = new Set(active.map(({ metadata }) => indexOf(metadata.annotations)))
  const isDecided = (index: number) => completed.has(index) || lost.has(index) || activeIndexes.has(index)
  const heldFailed = heldForIndex(job, freshFailed, isDecided)
  const held = new Set(heldFailed.values())
  const counted = freshFailed.filter((pod) => !isIgnored(job, pod))
  return {
    active,
    ready: active.filter(isPodReady).length,
    terminating: pods.filter((pod) => isRunning(pod) && isPodTerminating(pod)).length,
    succeeded: (status?.succeeded ?? 0) + waitingSucceeded.length + newlySucceeded.length,
    failed: (status?.failed ?? 0) + waitingFailed.length + counted.length,
    newlySucceeded,
    newlyFailed: counted.filter((pod) => !held.has(pod)),
    newlyIgnored: freshFailed.filter((pod) => !held.has(pod) && !counted.includes(pod)),
    heldFailed,
    completed,
    failedIndexes: lost,
  }
}

/** For a Job that ends: nothing is replaced any more, so no Pod needs to be held. */
export function withNobodyHeld(job: Job, facts: JobFacts): JobFacts {
  const held = [...facts.heldFailed.values()]
  return {
    ...facts,
    newlyFailed: [...facts.newlyFailed, ...held.filter((pod) => !isIgnored(job, pod))],
    newlyIgnored: [...facts.newlyIgnored, ...held.filter((pod) => isIgnored(job, pod))],
    heldFailed: new Map(),
  }
}

export function isTracked(finalizers: readonly string[] | undefined): boolean {
  return finalizers?.includes(trackingFinalizer) ?? false
}

export function isIndexed({ spec }: Job): boolean {
  return spec.completionMode === 'Indexed'
}

/** A Pod that is being deleted counts as failed at once, unless the Job only replaces Pods that have ended. */
export function countsAsFailed({ spec }: Job, pod: Pod): boolean {
  if (pod.status?.phase === 'Failed') return true
  return spec.podReplacementPolicy !== 'Failed' && isPodTerminating(pod) && isRunning(pod)
}

function isRunning({ status }: Pod): boolean {
  return status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
}

function completedIndexes(job: Job, succeeded: readonly Pod[]): ReadonlySet<number> {
  if (!isIndexed(job)) return new Set()
  const completions = job.spec.completions ?? 0
  const indexes = parseIndexes(job.status?.completedIndexes ?? '', completions)
  for (const { metadata } of succeeded) {
    const index = indexOf(metadata.annotations)
    if (index !== undefined && index < completions) indexes.add(index)
  }
  return indexes
}

export type ConditionType = 'Complete' | 'Failed' | 'Suspended' | 'SuccessCriteriaMet' | 'FailureTarget'

export function isTrue({ status }: Job, wanted: ConditionType): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === wanted && value === 'True') ?? false
}

export function isJobFinished(job: Job): boolean {
  return isTrue(job, 'Complete') || isTrue(job, 'Failed')
}
