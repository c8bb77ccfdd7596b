import type { Job } from '../../resources/job.ts'
import type { Pod } from '../../resources/pod.ts'
import { indexOf, parseIndexes } from './completion-indexes.ts'
import { isIgnored, matchFailure } from './failure-policy.ts'
import { finishedAt, retryDelayAfter } from './retry-delay.ts'

const failureCount = 'batch.kubernetes.io/job-index-failure-count'
const ignoredCount = 'batch.kubernetes.io/job-index-ignored-failure-count'

export function countsPerIndex({ spec }: Job): boolean {
  return spec.backoffLimitPerIndex !== undefined
}

/** How often the index had failed before this Pod. */
function countIn({ metadata }: Pod, annotation: string): number {
  return Number(metadata.annotations?.[annotation] ?? 0) || 0
}

/** The annotations of a Pod that replaces a failed one: earlier failures are counted nowhere else. */
export function failureAnnotations(job: Job, replaced: Pod | undefined): Record<string, string> {
  if (!countsPerIndex(job)) return {}
  if (!replaced) return { [failureCount]: '0' }
  const ignored = isIgnored(job, replaced) ? 1 : 0
  const failures = countIn(replaced, failureCount) + 1 - ignored
  const ignoredFailures = countIn(replaced, ignoredCount) + ignored
  return { [failureCount]: String(failures), ...(ignoredFailures > 0 && { [ignoredCount]: String(ignoredFailures) }) }
}

/** The indexes that failed for good, including those that these Pods decide. */
export function failedIndexes(job: Job, failed: readonly Pod[]): ReadonlySet<number> {
  const { completions = 0, backoffLimitPerIndex = 0 } = job.spec
  if (!countsPerIndex(job)) return new Set()
  const indexes = parseIndexes(job.status?.failedIndexes ?? '', completions)
  for (const pod of failed) {
    const index = indexOf(pod.metadata.annotations)
    if (index === undefined || index >= completions) continue
    const action = matchFailure(job, pod)?.action
    const isExhausted = action !== 'Ignore' && countIn(pod, failureCount) >= backoffLimitPerIndex
    if (action === 'FailIndex' || isExhausted) indexes.add(index)
  }
  return indexes
}

/**
 * By index: the failed Pod that must stay until another has replaced it, because it alone holds the count of failures.
 */
export function heldForIndex(
  job: Job,
  failed: readonly Pod[],
  isDecided: (index: number) => boolean,
): ReadonlyMap<number, Pod> {
  const held = new Map<number, Pod>()
  if (!countsPerIndex(job)) return held
  const failures = (pod: Pod) => countIn(pod, failureCount) + countIn(pod, ignoredCount)
  for (const pod of failed) {
    const index = indexOf(pod.metadata.annotations)
    if (index === undefined || index >= (job.spec.completions ?? 0) || isDecided(index)) continue
    const before = held.get(index)
    if (!before || failures(pod) >= failures(before)) held.set(index, pod)
  }
  return held
}

/** How long to wait before an index is retried after this failure. */
export function indexDelayMs(failed: Pod | undefined, now: number): number {
  if (!failed) return 0
  const failures = countIn(failed, failureCount) + countIn(failed, ignoredCount) + 1
  return retryDelayAfter(failures, finishedAt(failed), now)
}
