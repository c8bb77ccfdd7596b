import { describe, expect, it } from 'vitest'
import type { StatefulSet } from '../../resources/stateful-set.ts'
import { madeAt, pod as anyPod, template } from '../workload-objects.fixture.ts'
import { planStatefulSet, statefulSetStatus } from './plan-stateful-set.ts'
import { revisionLabel } from './pod-identity.ts'

const now = madeAt + 60_000
const revisions = { current: 'db-1', update: 'db-2' }

const set = (spec: Partial<StatefulSet['spec']> = {}): StatefulSet => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db', namespace: 'default', uid: 'uid-db', generation: 1 },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'db' } },
    template: template(),
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    ...spec,
  },
})
const pod = (ordinal: number, revision = 'db-2', facts: Parameters<typeof anyPod>[1] = { ready: true }) =>
  anyPod(`db-${ordinal}`, { ...facts, labels: { [revisionLabel]: revision } })
const plan = (found: StatefulSet, pods: ReturnType<typeof pod>[]) => {
  const { create, remove } = planStatefulSet(found, pods, revisions, now)
  return {
    create: create.map(({ ordinal, revision }) => `${ordinal}@${revision}`),
    remove: remove.map(({ pod: { metadata }, reason }) => `${metadata.name} ${reason}`),
  }
}
const parallel = { podManagementPolicy: 'Parallel' }

describe('Pods in order', () => {
  it.each([
    ['the first comes first', set(), [], ['0@db-2'], []],
    ['the next waits for the one before', set(), [pod(0, 'db-2', {})], [], []],
    ['the next comes when the one before is ready', set(), [pod(0)], ['1@db-2'], []],
    ['a gap is filled before anything else', set(), [pod(0), pod(2)], ['1@db-2'], []],
    ['the last goes first', set({ replicas: 1 }), [pod(0), pod(1), pod(2)], [], ['db-2 surplus']],
    [
      'one that leaves is waited for',
      set({ replicas: 1 }),
      [pod(0), pod(1), pod(2, 'db-2', { ready: true, leaving: true })],
      [],
      [],
    ],
    ['a broken one below holds the others', set({ replicas: 2 }), [pod(0, 'db-2', {}), pod(1), pod(2)], [], []],
    ['one that failed is made anew', set(), [pod(0, 'db-2', { phase: 'Failed' })], [], ['db-0 Failed']],
    ['ordinals may begin elsewhere', set({ replicas: 2, ordinals: { start: 5 } }), [pod(5)], ['6@db-2'], []],
  ] as const)('%s', (_what, found, pods, create, remove) => {
    expect(plan(found, [...pods])).toEqual({ create, remove })
  })
})

describe('Pods in parallel', () => {
  it('come and go together', () => {
    expect(plan(set(parallel), []).create).toEqual(['0@db-2', '1@db-2', '2@db-2'])
    expect(plan(set({ ...parallel, replicas: 1 }), [pod(0), pod(1), pod(2)]).remove).toEqual([
      'db-2 surplus',
      'db-1 surplus',
    ])
  })
})

describe('a rollout', () => {
  it('goes from the last to the first, one by one', () => {
    expect(
      plan(
        set(),
        [0, 1, 2].map((ordinal) => pod(ordinal, 'db-1')),
      ).remove,
    ).toEqual(['db-2 outdated'])
    expect(plan(set(), [pod(0, 'db-1'), pod(1, 'db-1'), pod(2, 'db-2', {})]).remove).toEqual([])
    expect(plan(set(), [pod(0, 'db-1'), pod(1, 'db-1'), pod(2)]).remove).toEqual(['db-1 outdated'])
  })

  it('stops at the partition, below which Pods keep their revision', () => {
    const found = set({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } })
    expect(plan(found, [pod(0, 'db-1'), pod(1, 'db-1'), pod(2)]).remove).toEqual([])
    expect(plan(found, [pod(0, 'db-1'), pod(2)]).create).toEqual(['1@db-1'])
  })

  it('is left to whoever deletes Pods', () => {
    const found = set({ updateStrategy: { type: 'OnDelete' } })
    expect(
      plan(
        found,
        [0, 1, 2].map((ordinal) => pod(ordinal, 'db-1')),
      ).remove,
    ).toEqual([])
    expect(plan(found, [pod(0, 'db-1')]).create).toEqual(['1@db-2'])
  })

  it('is over when every Pod has the new revision and is ready', () => {
    const status = (pods: ReturnType<typeof pod>[]) => statefulSetStatus(set(), pods, revisions, 0, now)
    expect(status([pod(0), pod(1), pod(2, 'db-2', {})])).toMatchObject({ currentRevision: 'db-1', updatedReplicas: 3 })
    expect(status([pod(0), pod(1), pod(2)])).toMatchObject({
      currentRevision: 'db-2',
      currentReplicas: 3,
      readyReplicas: 3,
    })
  })
})
