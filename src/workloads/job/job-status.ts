import type { Job } from '../../resources/job.ts'
import { timestamp } from '../../resources/kubernetes-object.ts'
import type { Pod } from '../../resources/pod.ts'
import { conditionsField, nonZero, putCondition } from '../status-fields.ts'
import { formatIndexes } from './completion-indexes.ts'
import { countsPerIndex } from './index-failures.ts'
import { type JobFacts, isIndexed, isTracked } from './job-facts.ts'
import type { JobPlan, Verdict } from './plan-job.ts'

type Status = NonNullable<Job['status']>

export interface JobOutcome {
  readonly status: Status
  /** Set when the Job has just ended. */
  readonly ended: Verdict | undefined
}

/** The Job's Pods in the cache, and whether the cache shows everything that was done for the Job. */
export interface SeenPods {
  readonly pods: readonly Pod[]
  readonly areAll: boolean
}

/**
 * The status. Finished Pods are counted in two steps, so that each counts exactly once whatever is interrupted: first
 * they are listed as uncounted; then, when the finalizer that holds them is gone, they are added to the counts. A Job
 * does not end while the cache is behind: a Pod that it does not show yet would never be deleted.
 */
export function jobStatus(job: Job, facts: JobFacts, plan: JobPlan, seen: SeenPods, now: number): JobOutcome {
  const before = job.status ?? {}
  const held = new Set(
    seen.pods.filter(({ metadata }) => isTracked(metadata.finalizers)).map(({ metadata }) => metadata.uid),
  )
  const uncounted = before.uncountedTerminatedPods ?? {}
  const stillHeld = (uids: readonly string[] = []) => uids.filter((uid) => held.has(uid))
  const counted = (uids: readonly string[] = []) => uids.length - stillHeld(uids).length
  const succeeded = [...stillHeld(uncounted.succeeded), ...uidsOf(facts.newlySucceeded)]
  const failed = [...stillHeld(uncounted.failed), ...uidsOf(facts.newlyFailed)]
  const { active, ready, terminating } = afterRemoval(facts, plan)
  const isEmpty = seen.areAll && active + terminating + succeeded.length + failed.length === 0
  const ended = isEmpty ? plan.verdict : undefined
  const startTime = plan.suspended ? undefined : (before.startTime ?? timestamp(now))
  const completed = formatIndexes(facts.completed)
  const status: Status = {
    ...nonZero({
      active,
      succeeded: (before.succeeded ?? 0) + counted(uncounted.succeeded),
      failed: (before.failed ?? 0) + counted(uncounted.failed),
    }),
    ready,
    terminating,
    ...(startTime !== undefined && { startTime }),
    ...(ended?.type === 'SuccessCriteriaMet' && { completionTime: timestamp(now) }),
    ...(isIndexed(job) && completed !== '' && { completedIndexes: completed }),
    ...(countsPerIndex(job) && { failedIndexes: formatIndexes(facts.failedIndexes) }),
    uncountedTerminatedPods: {
      ...(succeeded.length > 0 && { succeeded }),
      ...(failed.length > 0 && { failed }),
    },
    ...conditionsField(conditionsOf(job, plan, ended, now)),
  }
  return { status, ended }
}

function conditionsOf(job: Job, { verdict, suspended }: JobPlan, ended: Verdict | undefined, now: number) {
  let conditions = job.status?.conditions ?? []
  const wasSuspended = conditions.some(({ type, status }) => type === 'Suspended' && status === 'True')
  if (suspended !== wasSuspended && !verdict) {
    const next = suspended
      ? ({ status: 'True', reason: 'JobSuspended', message: 'Job suspended' } as const)
      : ({ status: 'False', reason: 'JobResumed', message: 'Job resumed' } as const)
    conditions = put(conditions, { type: 'Suspended', ...next }, now)
  }
  if (verdict) conditions = put(conditions, { ...verdict, status: 'True' }, now)
  if (ended) {
    const type = ended.type === 'SuccessCriteriaMet' ? 'Complete' : 'Failed'
    conditions = put(conditions, { ...ended, type, status: 'True' }, now)
  }
  return conditions
}

type Conditions = NonNullable<Status['conditions']>

function put(conditions: Conditions, next: Parameters<typeof putCondition>[1], now: number): Conditions {
  const before = conditions.find(({ type }) => type === next.type)
  const all = putCondition(conditions, next, now)
  return before ? all : all.map((each) => (each.type === next.type ? { ...each, lastProbeTime: timestamp(now) } : each))
}

/** The numbers after the Pods to be removed are on their way out. */
function afterRemoval({ active, terminating }: JobFacts, { remove }: JobPlan) {
  const leaving = new Set(remove)
  const staying = active.filter((pod) => !leaving.has(pod))
  const ready = staying.filter(({ status }) =>
    status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
  )
  return { active: staying.length, ready: ready.length, terminating: terminating + leaving.size }
}

function uidsOf(pods: readonly Pod[]): string[] {
  return pods.map(({ metadata }) => metadata.uid ?? '')
}
