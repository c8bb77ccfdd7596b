import type { Job } from '../../resources/job.ts'
import { type Pod, isPodReady } from '../../resources/pod.ts'
import { indexOf } from './completion-indexes.ts'
import { matchFailure } from './failure-policy.ts'
import { countsPerIndex, indexDelayMs } from './index-failures.ts'
import { type JobFacts, countsAsFailed, isIndexed, isTrue } from './job-facts.ts'
import { retryDelayMs } from './retry-delay.ts'
import { matchSuccess } from './success-policy.ts'

export interface Verdict {
  readonly type: 'SuccessCriteriaMet' | 'FailureTarget'
  readonly reason: string
  readonly message: string
}

export interface JobPlan {
  /** Set when the Job is decided, now or before. */
  readonly verdict: Verdict | undefined
  readonly suspended: boolean
  /** One entry for each Pod to create: its index in an indexed Job. */
  readonly create: readonly (number | undefined)[]
  readonly remove: readonly Pod[]
  /** When there will be something to do without any change. */
  readonly lookAgainMs: number | undefined
}

const mostAtOnce = 500

/** What a Job needs next: Pods, or its end. */
export function planJob(job: Job, facts: JobFacts, pods: readonly Pod[], now: number): JobPlan {
  const { spec, status } = job
  const nothing = { create: [], remove: [], lookAgainMs: undefined }
  const verdict = decide(job, facts, pods, now)
  if (verdict) return { ...nothing, verdict, suspended: false, remove: facts.active }
  if (spec.suspend === true) return { ...nothing, verdict, suspended: true, remove: facts.active }
  const deadline = untilDeadlineMs(job, status?.startTime, now)
  const parallelism = spec.parallelism ?? 1
  const remaining = wantedActive(job, facts)
  const active = facts.active.length
  const base = { verdict, suspended: false }
  if (active > remaining) {
    const surplus = rankForRemoval(facts.active).slice(0, active - remaining)
    return { ...base, create: [], remove: surplus, lookAgainMs: deadline }
  }
  // A Pod that is being deleted still takes a place if it is only replaced once it has ended.
  const held = spec.podReplacementPolicy === 'Failed' ? facts.terminating : 0
  const missing = Math.min(remaining - active - held, parallelism - active, mostAtOnce)
  if (missing <= 0) return { ...base, create: [], remove: [], lookAgainMs: deadline }
  const { create, delay } = nextToCreate(job, facts, pods, missing, now)
  if (delay > 0) return { ...base, create, remove: [], lookAgainMs: Math.min(delay, deadline ?? delay) }
  return { ...base, create, remove: [], lookAgainMs: deadline }
}

/**
 * What may be created now, and how long the rest has to wait. A failure delays everything that follows, unless failures
 * are tracked per index.
 */
function nextToCreate(job: Job, facts: JobFacts, pods: readonly Pod[], missing: number, now: number) {
  if (!countsPerIndex(job)) {
    const delay = retryDelayMs(pods, now)
    if (delay > 0) return { create: [], delay }
    if (!isIndexed(job)) return { create: Array.from({ length: missing }, () => undefined), delay }
  }
  const free = freeIndexes(job, facts, pods).slice(0, missing)
  const delays = new Map(free.map((index) => [index, indexDelayMs(facts.heldFailed.get(index), now)]))
  const waiting = [...delays.values()].filter((delay) => delay > 0)
  const create = free.filter((index) => delays.get(index) === 0)
  return { create, delay: waiting.length > 0 ? Math.min(...waiting) : 0 }
}

function decide(job: Job, facts: JobFacts, pods: readonly Pod[], now: number): Verdict | undefined {
  const { spec, status } = job
  const known = status?.conditions?.find(
    ({ type, status: value }) => value === 'True' && (type === 'SuccessCriteriaMet' || type === 'FailureTarget'),
  )
  if (known?.type === 'SuccessCriteriaMet' || known?.type === 'FailureTarget') {
    return { type: known.type, reason: known.reason ?? '', message: known.message ?? '' }
  }
  for (const pod of pods.filter((each) => countsAsFailed(job, each))) {
    const matched = matchFailure(job, pod)
    if (matched?.action === 'FailJob') {
      return { type: 'FailureTarget', reason: 'PodFailurePolicy', message: matched.message }
    }
  }
  if (facts.failed > (spec.backoffLimit ?? 6) || restartsExceeded(job, facts)) {
    const message = 'Job has reached the specified backoff limit'
    return { type: 'FailureTarget', reason: 'BackoffLimitExceeded', message }
  }
  const left = spec.suspend === true ? undefined : untilDeadlineMs(job, status?.startTime, now)
  if (left !== undefined && left <= 0) {
    const message = 'Job was active longer than specified deadline'
    return { type: 'FailureTarget', reason: 'DeadlineExceeded', message }
  }
  const byIndexes = decideByIndexes(job, facts)
  if (byIndexes || !isReached(job, facts)) return byIndexes
  const message = 'Reached expected number of succeeded pods'
  return { type: 'SuccessCriteriaMet', reason: 'CompletionsReached', message }
}

function decideByIndexes(job: Job, { completed, failedIndexes }: JobFacts): Verdict | undefined {
  const { maxFailedIndexes, completions = 0 } = job.spec
  if (!isIndexed(job)) return undefined
  if (maxFailedIndexes !== undefined && failedIndexes.size > maxFailedIndexes) {
    const message = 'Job has exceeded the specified maximal number of failed indexes'
    return { type: 'FailureTarget', reason: 'MaxFailedIndexesExceeded', message }
  }
  if (failedIndexes.size > 0 && failedIndexes.size + completed.size >= completions) {
    return { type: 'FailureTarget', reason: 'FailedIndexes', message: 'Job has failed indexes' }
  }
  const rule = matchSuccess(job, completed)
  if (rule === undefined) return undefined
  return { type: 'SuccessCriteriaMet', reason: 'SuccessPolicy', message: `Matched rules at index ${rule}` }
}

function isReached(job: Job, { succeeded, active, completed }: JobFacts): boolean {
  const { completions, suspend } = job.spec
  if (isTrue(job, 'Suspended') && suspend === true) return false
  if (isIndexed(job)) return completed.size >= (completions ?? 0)
  // Without a number of completions, one success ends the Job as soon as the other Pods have ended.
  if (completions === undefined) return succeeded > 0 && active.length === 0
  return succeeded >= completions
}

/** With restarts in place, the restarts count. */
function restartsExceeded({ spec }: Job, { active }: JobFacts): boolean {
  if (spec.template.spec.restartPolicy !== 'OnFailure') return false
  const limit = spec.backoffLimit ?? 6
  const restarts = active.flatMap(({ status }) => [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
  ])
  const total = restarts.reduce((sum, { restartCount }) => sum + restartCount, 0)
  return limit === 0 ? total > 0 : total >= limit
}

function wantedActive({ spec }: Job, { succeeded, active }: JobFacts): number {
  const { completions, parallelism = 1 } = spec
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism
  return Math.max(0, Math.min(parallelism, completions - succeeded))
}

function freeIndexes({ spec }: Job, { completed, failedIndexes }: JobFacts, pods: readonly Pod[]): number[] {
  const running = pods.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed')
  const blocking = spec.podReplacementPolicy === 'Failed' ? running : running.filter(isStaying)
  const taken = new Set(blocking.map(({ metadata }) => indexOf(metadata.annotations)))
  const free: number[] = []
  for (let index = 0; index < (spec.completions ?? 0); index += 1) {
    if (!completed.has(index) && !failedIndexes.has(index) && !taken.has(index)) free.push(index)
  }
  return free
}

function isStaying({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp === undefined
}

/** Those that have got least far go first. */
function rankForRemoval(pods: readonly Pod[]): readonly Pod[] {
  const rank = (pod: Pod) => (isPodReady(pod) ? 2 : pod.status?.phase === 'Running' ? 1 : 0)
  const created = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp ?? '') || 0
  return pods.toSorted((left, right) => rank(left) - rank(right) || created(right) - created(left))
}

export function untilDeadlineMs({ spec }: Job, startTime: string | undefined, now: number): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || startTime === undefined) return undefined
  return Date.parse(startTime) + spec.activeDeadlineSeconds * 1000 - now
}
