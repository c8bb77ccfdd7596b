import { describe, expect, it } from 'vitest'
import type { Deployment } from '../../resources/deployment.ts'
import type { ReplicaSet } from '../../resources/replica-set.ts'
import { deployment, madeAt, replicaSet } from '../workload-objects.fixture.ts'
import { planRollout } from './plan-rollout.ts'
import { desiredReplicas, maxReplicas } from './revisions.ts'
import { rolloutLimits } from './rollout-limits.ts'

const old = (replicas: number, available = replicas) =>
  replicaSet('old', { replicas, available, image: 'app:0', createdAt: madeAt - 60_000 })
const current = (replicas: number, available = replicas) => replicaSet('new', { replicas, available })
const sized = (set: ReplicaSet, desired: number, most: number): ReplicaSet => ({
  ...set,
  metadata: { ...set.metadata, annotations: { [desiredReplicas]: String(desired), [maxReplicas]: String(most) } },
})
const rolling = (maxSurge: number | string, maxUnavailable: number | string, replicas = 4) =>
  deployment({ replicas, strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } } })
const sizes = (found: Deployment, sets: { current?: ReplicaSet; old: ReplicaSet[] }, oldPodsRun = false) => {
  const step = planRollout(found, { current: sets.current, old: sets.old }, oldPodsRun)
  if (step.type === 'create') return `create ${step.replicas}`
  return step.type === 'resize'
    ? step.resizes.map(({ set, replicas }) => `${set.metadata.name} ${replicas}`).join()
    : step.type
}

describe('limits of a rollout', () => {
  it.each([
    ['25%', '25%', 10, { surge: 3, unavailable: 2 }],
    [1, 0, 3, { surge: 1, unavailable: 0 }],
    [0, '10%', 3, { surge: 0, unavailable: 1 }],
    ['100%', '100%', 3, { surge: 3, unavailable: 3 }],
    [2, 9, 3, { surge: 2, unavailable: 3 }],
    [1, 1, 0, { surge: 0, unavailable: 0 }],
  ] as const)('surge %s, unavailable %s of %i', (surge, unavailable, replicas, expected) => {
    expect(rolloutLimits(rolling(surge, unavailable, replicas))).toEqual(expected)
  })
})

describe('a rolling update', () => {
  it.each([
    ['begins with all Pods when there were none', rolling(1, 1), { old: [] }, 'create 4'],
    ['begins with what the surge allows', rolling(1, 0), { old: [old(4)] }, 'create 1'],
    ['takes old Pods down when new ones are available', rolling(1, 0), { current: current(1), old: [old(4)] }, 'old 3'],
    ['waits for a new Pod that is not available', rolling(1, 0), { current: current(1, 0), old: [old(4)] }, 'settled'],
    ['grows when there is room again', rolling(1, 0), { current: current(1), old: [old(3)] }, 'new 2'],
    ['may be short of Pods when it is allowed to', rolling(0, 2), { current: current(0), old: [old(4)] }, 'old 2'],
    [
      'takes broken old Pods first',
      rolling(1, 0),
      { current: current(1, 0), old: [old(4), replicaSet('older', { replicas: 1, available: 0, image: 'app:9' })] },
      'older 0',
    ],
    ['takes a smaller Deployment at its word', rolling(1, 0, 2), { current: current(4), old: [] }, 'new 2'],
    ['is over', rolling(1, 0), { current: current(4), old: [old(0)] }, 'settled'],
  ] as const)('%s', (_what, found, sets, expected) => {
    expect(sizes(found, { ...sets, old: [...sets.old] })).toBe(expected)
  })

  it('does not count on Pods of a ReplicaSet that was just made smaller', () => {
    const shrunk = replicaSet('old', { replicas: 3, available: 8, image: 'app:0' })
    expect(sizes(rolling(3, 2, 5), { current: current(5, 0), old: [shrunk] })).toBe('settled')
  })

  it.each([
    [1, 0, 5],
    [0, 1, 5],
    ['25%', '25%', 8],
    [3, 2, 10],
    ['100%', 0, 4],
  ] as const)(
    'with surge %s and unavailable %s of %i ends, and keeps its limits all the way',
    (surge, unavailable, replicas) => {
      const found = rolling(surge, unavailable, replicas)
      const limits = rolloutLimits(found)
      let before = old(replicas)
      let after: ReplicaSet | undefined
      for (let round = 0; round < 100; round += 1) {
        const step = planRollout(found, { current: after, old: [before] }, false)
        if (step.type === 'settled' && after?.spec.replicas === replicas && before.spec.replicas === 0) return
        if (step.type === 'create') after = replicaSet('new', { replicas: step.replicas, available: 0 })
        else if (step.type === 'resize') {
          for (const { set, replicas: size } of step.resizes) {
            if (set === before) before = old(size)
            else
              after = replicaSet('new', {
                replicas: size,
                available: Math.min(size, after?.status?.availableReplicas ?? 0),
              })
          }
        } else if (after) after = current(after.spec.replicas ?? 0)
        const total = (before.spec.replicas ?? 0) + (after?.spec.replicas ?? 0)
        const available = (before.status?.availableReplicas ?? 0) + (after?.status?.availableReplicas ?? 0)
        expect(total).toBeLessThanOrEqual(replicas + limits.surge)
        expect(available).toBeGreaterThanOrEqual(replicas - limits.unavailable)
      }
      expect.unreachable('it did not end')
    },
  )
})

describe('Recreate', () => {
  const recreate = deployment({ strategy: { type: 'Recreate' } })
  it('stops all old Pods, waits for them, and only then begins', () => {
    expect(sizes(recreate, { old: [old(3)] }, true)).toBe('old 0')
    expect(sizes(recreate, { old: [old(0)] }, true)).toBe('wait')
    expect(sizes(recreate, { old: [old(0)] }, false)).toBe('create 3')
    expect(sizes(recreate, { current: current(3), old: [old(0)] }, false)).toBe('settled')
  })
})

describe('a new size', () => {
  it('during a rollout is spread in proportion', () => {
    const sets = { current: sized(current(5, 0), 10, 13), old: [sized(old(8), 10, 13)] }
    expect(sizes(rolling(3, 2, 15), sets)).toBe('old 11,new 7')
    const larger = { current: sized(current(7, 0), 15, 18), old: [sized(old(11), 15, 18)] }
    expect(sizes(rolling(3, 2, 5), larger)).toBe('old 5,new 3')
  })

  it('of a paused Deployment counts, its new template does not', () => {
    const paused = { ...rolling(1, 0), spec: { ...rolling(1, 0).spec, paused: true } }
    expect(sizes(paused, { old: [sized(old(2), 2, 3)] })).toBe('old 4')
    expect(sizes(paused, { old: [sized(old(4), 4, 5)] })).toBe('settled')
  })
})
