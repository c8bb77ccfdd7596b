import { expect, it } from 'vitest'
import { madeAt, pod, replicaSet } from '../workload-objects.fixture.ts'
import { planReplicaSet, replicaSetStatus } from './plan-replica-set.ts'

const now = madeAt + 60_000
const plan = (replicas: number, pods: ReturnType<typeof pod>[]) =>
  planReplicaSet(replicaSet('web', { replicas }), pods, () => pods, now)

it('creates what is missing, 500 at a time', () => {
  expect(plan(3, [pod('a')])).toEqual({ create: 2, delete: [] })
  expect(plan(2000, []).create).toBe(500)
  expect(plan(1, [pod('a')])).toEqual({ create: 0, delete: [] })
})

it('deletes what is too much, those that do not work first', () => {
  const [good, bad] = [pod('good', { ready: true, node: 'n' }), pod('bad', { node: 'n' })]
  expect(plan(1, [good, bad]).delete).toEqual([bad])
  expect(plan(0, [good, bad]).delete).toEqual([good, bad])
})

it('counts a Pod as available once it has been ready for long enough', () => {
  const found = replicaSet('web', { replicas: 2 })
  const set = { ...found, spec: { ...found.spec, minReadySeconds: 30 } }
  const pods = [
    pod('long', { ready: true, readyAt: now - 31_000, labels: { app: 'web' } }),
    pod('just', { ready: true, readyAt: now - 5_000 }),
  ]
  expect(replicaSetStatus(set, pods, undefined, now)).toEqual({
    replicas: 2,
    fullyLabeledReplicas: 1,
    readyReplicas: 2,
    availableReplicas: 1,
    observedGeneration: 1,
  })
})

it('says why Pods cannot be made until they can', () => {
  const set = replicaSet('web', { replicas: 1 })
  const failure = { reason: 'FailedCreate', message: 'exceeded quota' } as const
  const status = replicaSetStatus(set, [], failure, now)
  expect(status.conditions).toEqual([expect.objectContaining({ type: 'ReplicaFailure', status: 'True', ...failure })])
  expect(replicaSetStatus({ ...set, status }, [], undefined, now).conditions).toBeUndefined()
})
