import { describe, expect, it } from 'vitest'
import type { Job } from '../../resources/job.ts'
import { timestamp } from '../../resources/kubernetes-object.ts'
import { madeAt, pod as anyPod, template } from '../workload-objects.fixture.ts'
import { formatIndexes, indexAnnotation, parseIndexes } from './completion-indexes.ts'
import { expiresInMs } from './finished-jobs.ts'
import { jobFacts, trackingFinalizer, withNobodyHeld } from './job-facts.ts'
import { jobPodIdentity } from './job-pod.ts'
import { jobStatus } from './job-status.ts'
import { planJob } from './plan-job.ts'
import { retryDelayMs } from './retry-delay.ts'

const now = madeAt + 3_600_000
const held = { finalizers: [trackingFinalizer] }
const job = (spec: Partial<Job['spec']> = {}, status: Job['status'] = { startTime: timestamp(now - 60_000) }): Job => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'pi', namespace: 'default', uid: 'uid-pi' },
  spec: { parallelism: 1, completions: 1, backoffLimit: 6, template: template(), ...spec },
  status,
})
const pod = (name: string, facts: Parameters<typeof anyPod>[1] = {}) => anyPod(name, { ...held, ...facts })
const failed = (name: string) => pod(name, { phase: 'Failed', finishedAt: madeAt })
const plan = (found: Job, pods: ReturnType<typeof pod>[]) => planJob(found, jobFacts(found, pods), pods, now)

describe('a Job', () => {
  it('runs as many Pods as it may at once, and no more than it needs', () => {
    expect(plan(job({ parallelism: 3, completions: 10 }), []).create).toHaveLength(3)
    expect(plan(job({ parallelism: 3, completions: 10 }, { succeeded: 9 }), []).create).toHaveLength(1)
    expect(plan(job({ parallelism: 2, completions: 10 }), [pod('a'), pod('b'), pod('c')]).remove).toHaveLength(1)
  })

  it('is complete when enough have succeeded', () => {
    const verdict = { type: 'SuccessCriteriaMet', reason: 'CompletionsReached' }
    expect(plan(job(), [pod('a', { phase: 'Succeeded' })]).verdict).toMatchObject(verdict)
    expect(plan(job({ completions: 0 }), []).verdict).toMatchObject(verdict)
  })

  it('without a number ends when one has succeeded and the others have ended, too', () => {
    const { completions: _number, ...spec } = job({ parallelism: 2 }).spec
    const queue = { ...job(), spec }
    expect(plan(queue, [pod('a', { phase: 'Succeeded' }), pod('b')])).toMatchObject({ verdict: undefined, create: [] })
    expect(plan(queue, [pod('a', { phase: 'Succeeded' }), failed('b')]).verdict?.type).toBe('SuccessCriteriaMet')
  })

  it('fails when more have failed than may, and takes the others with it', () => {
    const tooMany = plan(job({ backoffLimit: 1 }), [failed('a'), failed('b'), pod('c')])
    expect(tooMany.verdict).toMatchObject({ type: 'FailureTarget', reason: 'BackoffLimitExceeded' })
    expect(tooMany.remove.map(({ metadata }) => metadata.name)).toEqual(['c'])
    const restarting = job({
      backoffLimit: 2,
      template: { ...template(), spec: { ...template().spec, restartPolicy: 'OnFailure' } },
    })
    expect(plan(restarting, [pod('a', { restarts: 1 })]).verdict).toBeUndefined()
    expect(plan(restarting, [pod('a', { restarts: 2 })]).verdict?.reason).toBe('BackoffLimitExceeded')
  })

  it('fails when its time is over, and says when that will be', () => {
    expect(plan(job({ activeDeadlineSeconds: 60 }), [pod('a')]).verdict?.reason).toBe('DeadlineExceeded')
    expect(plan(job({ activeDeadlineSeconds: 90 }), [pod('a')])).toMatchObject({
      verdict: undefined,
      lookAgainMs: 30_000,
    })
  })

  it('that is suspended has no Pods', () => {
    expect(plan(job({ suspend: true }), [pod('a')])).toMatchObject({
      suspended: true,
      create: [],
      remove: [{ metadata: { name: 'a' } }],
    })
  })

  it('waits longer after every failure in a row', () => {
    const at = (finishedAt: number) => pod(`p${finishedAt}`, { phase: 'Failed', finishedAt })
    expect(retryDelayMs([at(now)], now)).toBe(10_000)
    expect(retryDelayMs([at(now - 30_000), at(now - 5_000), at(now)], now)).toBe(40_000)
    expect(retryDelayMs([at(now - 3_000_000)], now)).toBe(0)
    expect(plan(job(), [at(now - 4_000)])).toMatchObject({ create: [], lookAgainMs: 6_000 })
  })

  it('that is indexed runs each index once, and those that failed again', () => {
    const at = (index: number, facts: Parameters<typeof anyPod>[1]) =>
      pod(`i${index}`, { ...facts, annotations: { [indexAnnotation]: String(index) } })
    const indexed = job(
      { completionMode: 'Indexed', completions: 5, parallelism: 5 },
      { completedIndexes: '3', succeeded: 1 },
    )
    const pods = [at(0, { phase: 'Succeeded' }), at(1, {}), at(2, { phase: 'Failed', finishedAt: madeAt })]
    expect(plan(indexed, pods).create).toEqual([2, 4])
  })
})

describe('a Job with policies', () => {
  const indexed = { completionMode: 'Indexed', completions: 4, parallelism: 4, backoffLimitPerIndex: 1 }
  const failures = 'batch.kubernetes.io/job-index-failure-count'
  const failedAt = (index: number, count: number, finishedAt = madeAt) =>
    pod(`i${index}-${count}`, {
      phase: 'Failed',
      finishedAt,
      annotations: { [indexAnnotation]: String(index), [failures]: String(count) },
    })

  it('keeps the failed Pod of an index until another has taken its place, and then counts it', () => {
    const found = job(indexed)
    const first = failedAt(0, 0)
    expect(jobFacts(found, [first])).toMatchObject({ failed: 1, newlyFailed: [], heldFailed: new Map([[0, first]]) })
    const next = pod('next', { annotations: { [indexAnnotation]: '0', [failures]: '1' } })
    expect(jobFacts(found, [first, next])).toMatchObject({ failed: 1, newlyFailed: [first], heldFailed: new Map() })
    expect(jobPodIdentity(found, 0, first).annotations).toEqual({ [indexAnnotation]: '0', [failures]: '1' })
  })

  it('waits for each index by itself', () => {
    const pods = [failedAt(0, 0, now - 4_000), failedAt(1, 0, now - 60_000)]
    expect(plan(job(indexed), pods)).toMatchObject({ create: [1, 2, 3], lookAgainMs: 6_000 })
  })

  it('lets go of every failed Pod when it is decided', () => {
    const found = job({ ...indexed, maxFailedIndexes: 0 })
    const pods = [failedAt(0, 0), failedAt(1, 1)]
    expect(plan(found, pods).verdict?.reason).toBe('MaxFailedIndexesExceeded')
    expect(withNobodyHeld(found, jobFacts(found, pods)).newlyFailed).toHaveLength(2)
  })

  it.each([
    [{ operator: 'In', values: [1] }, 'PodFailurePolicy'],
    [{ operator: 'In', values: [2] }, undefined],
    [{ operator: 'NotIn', values: [2] }, 'PodFailurePolicy'],
    [{ operator: 'NotIn', values: [1] }, undefined],
    [{ operator: 'In', values: [1], containerName: 'other' }, undefined],
  ])('that fails on exit codes %j', (onExitCodes, reason) => {
    const podFailurePolicy = { rules: [{ action: 'FailJob', onExitCodes }] }
    expect(plan(job({ podFailurePolicy }), [failed('a')]).verdict?.reason).toBe(reason)
  })

  it('heeds the first rule that fits, and no other', () => {
    const onExitCodes = { operator: 'In', values: [1] }
    const rules = ['Ignore', 'FailJob'].map((action) => ({ action, onExitCodes }))
    const found = job({ backoffLimit: 0, podFailurePolicy: { rules } })
    expect(plan(found, [failed('a')]).verdict).toBeUndefined()
    expect(jobFacts(found, [failed('a')])).toMatchObject({ failed: 0, newlyFailed: [], newlyIgnored: [{}] })
  })

  it.each([
    [{ succeededCount: 2 }, true],
    [{ succeededCount: 3 }, false],
    [{ succeededIndexes: '0,3' }, true],
    [{ succeededIndexes: '0-2' }, false],
    [{ succeededIndexes: '0-2', succeededCount: 1 }, true],
  ])('is complete by %j: %s', (rule, isComplete) => {
    const found = job({ ...indexed, successPolicy: { rules: [rule] } }, { completedIndexes: '0,3', succeeded: 2 })
    expect(plan(found, []).verdict?.reason).toBe(isComplete ? 'SuccessPolicy' : undefined)
  })
})

describe('the count of a Job', () => {
  it('names a finished Pod first and counts it once its finalizer is gone', () => {
    const found = job({ completions: 2, parallelism: 1 })
    const ended = pod('a', { phase: 'Succeeded' })
    const status = (before: Job, pods: ReturnType<typeof pod>[]) =>
      jobStatus(before, jobFacts(before, pods), plan(before, pods), { pods, areAll: true }, now).status
    const named = status(found, [ended])
    expect(named).toMatchObject({ uncountedTerminatedPods: { succeeded: ['uid-a'] } })
    expect(named.succeeded).toBeUndefined()
    // Still held: nothing is counted twice, however often it is looked at.
    expect(status({ ...found, status: named }, [ended])).toEqual(named)
    const released = status({ ...found, status: named }, [anyPod('a', { phase: 'Succeeded' })])
    expect(released).toMatchObject({ succeeded: 1, uncountedTerminatedPods: {} })
    expect(status({ ...found, status: released }, [anyPod('a', { phase: 'Succeeded' })])).toMatchObject({
      succeeded: 1,
    })
    // Deleted before it was looked at again.
    expect(status({ ...found, status: named }, [])).toMatchObject({ succeeded: 1 })
  })

  it.each(['', '0', '0,1', '0-2', '1,3-5,7,8'])('of indexes is written and read as %j', (text) => {
    expect(formatIndexes(parseIndexes(text, 10))).toBe(text)
  })
})

it('a finished Job goes when its time is over', () => {
  const conditions = [{ type: 'Complete', status: 'True' as const, lastTransitionTime: timestamp(now) }]
  expect(expiresInMs(job({ ttlSecondsAfterFinished: 5 }), now)).toBeUndefined()
  expect(expiresInMs(job({}, { conditions }), now)).toBeUndefined()
  expect(expiresInMs(job({ ttlSecondsAfterFinished: 5 }, { conditions }), now + 2_000)).toBe(3_000)
})
