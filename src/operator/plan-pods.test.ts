import { describe, expect, it } from 'vitest'
import { failuresAnnotation } from './model-pod.ts'
import {
  type Case,
  type PodFacts,
  busyBy,
  card,
  factsWith,
  modelWith,
  now,
  plannedIn,
  podNamed,
  ready,
  stale,
  wantedIn,
} from './plan-pods.fixture.ts'
import { planPods } from './plan-pods.ts'

describe('how many Pods', () => {
  it.each<Case>([
    { name: 'sleeps without replicas', phase: 'Asleep', message: /a request wakes it/ },
    { name: 'creates what is missing', spec: { replicas: 2 }, create: 2, phase: 'Waking' },
    { name: 'keeps minReplicas when nobody asked for more', spec: { minReplicas: 2 }, create: 2 },
    { name: 'clamps to maxReplicas', spec: { replicas: 9 }, create: 5 },
    { name: 'clamps to minReplicas', spec: { replicas: 0, minReplicas: 1 }, create: 1 },
    { name: 'has enough', spec: { replicas: 1 }, pods: [podNamed('a', ready)], phase: 'Ready', message: /1 of 1/ },
    {
      name: 'does not count a Pod that is going',
      spec: { replicas: 1 },
      pods: [podNamed('a', { terminating: true })],
      create: 1,
    },
    {
      name: 'does not count somebody else’s Pod',
      spec: { replicas: 1 },
      pods: [podNamed('a', { owner: 'other' })],
      create: 1,
    },
    {
      name: 'waits for one that starts',
      spec: { replicas: 1 },
      pods: [podNamed('a')],
      phase: 'Waking',
      message: /a is starting/,
    },
  ])('$name', (row) => {
    expect(plannedIn(row)).toEqual(wantedIn(row))
  })
})

describe('scaling down', () => {
  it.each<Case>([
    {
      name: 'drains the least busy',
      spec: { replicas: 1 },
      pods: [podNamed('a', ready), podNamed('b', ready), podNamed('c', ready)],
      facts: busyBy({ a: 5, b: 2, c: 7 }),
      drain: ['a', 'b'],
      phase: 'Ready',
    },
    {
      name: 'takes one that does not serve before one that does, and deletes it at once',
      spec: { replicas: 1 },
      pods: [podNamed('a', ready), podNamed('b')],
      delete: ['b'],
    },
    {
      name: 'takes the youngest of equals',
      spec: { replicas: 1 },
      pods: [
        podNamed('a', { ...ready, created: '2029-01-01T00:00:00Z' }),
        podNamed('b', { ...ready, created: '2029-01-02T00:00:00Z' }),
      ],
      drain: ['b'],
    },
    {
      name: 'lets a draining one finish',
      pods: [podNamed('a', { ...ready, draining: 60_000 })],
      facts: busyBy({ a: 1 }),
      phase: 'Draining',
    },
    {
      name: 'deletes a drained one',
      pods: [podNamed('a', { ...ready, draining: 60_000 })],
      delete: ['a'],
      phase: 'Draining',
    },
    { name: 'gives routing a moment to notice', pods: [podNamed('a', { ...ready, draining: 500 })] },
    {
      name: 'waits for the deadline when nobody knows how busy it is',
      pods: [podNamed('a', { ...ready, draining: 599_000 })],
      facts: busyBy({}),
    },
    {
      name: 'ends the drain at its deadline',
      pods: [podNamed('a', { ...ready, draining: 600_000 })],
      facts: busyBy({ a: 3 }),
      delete: ['a'],
    },
    {
      name: 'is not asleep before the last Pod is gone',
      pods: [podNamed('a', { terminating: true })],
      phase: 'Draining',
    },
    {
      name: 'recalls a draining one rather than creating another',
      spec: { replicas: 2 },
      pods: [podNamed('a', ready), podNamed('b', { ...ready, draining: 5_000 })],
      recall: ['b'],
    },
    {
      name: 'recalls who left last',
      spec: { replicas: 1 },
      pods: [podNamed('a', { ...ready, draining: 9_000 }), podNamed('b', { ...ready, draining: 100 })],
      facts: busyBy({ a: 1, b: 1 }),
      recall: ['b'],
    },
    {
      name: 'recalls and creates what is still missing',
      spec: { replicas: 3 },
      pods: [podNamed('a', { ...ready, draining: 9_000 })],
      recall: ['a'],
      create: 2,
    },
  ])('$name', (row) => {
    expect(plannedIn(row)).toEqual(wantedIn(row))
  })
})

describe('a changed spec', () => {
  it.each<Case>([
    {
      name: 'starts one new Pod and keeps the old',
      spec: { replicas: 1 },
      pods: [podNamed('a', stale)],
      create: 1,
      phase: 'Ready',
    },
    {
      name: 'keeps the old one while the new one starts',
      spec: { replicas: 1 },
      pods: [podNamed('a', stale), podNamed('b')],
    },
    {
      name: 'drains the old one when the new one is ready',
      spec: { replicas: 1 },
      pods: [podNamed('a', stale), podNamed('b', ready)],
      drain: ['a'],
    },
    {
      name: 'goes one by one',
      spec: { replicas: 3 },
      pods: [podNamed('a', stale), podNamed('b', stale), podNamed('c', stale)],
      create: 1,
    },
    {
      name: 'drains the least busy old one for each new one',
      spec: { replicas: 3 },
      pods: [podNamed('a', stale), podNamed('b', stale), podNamed('c', stale), podNamed('d', ready)],
      facts: busyBy({ a: 3, b: 1, c: 2, d: 0 }),
      drain: ['b'],
    },
    {
      name: 'waits until the drained one has given its card back',
      spec: { replicas: 2 },
      pods: [podNamed('a', stale), podNamed('b', { ...stale, draining: 2_000 }), podNamed('d', ready)],
      facts: busyBy({ b: 1 }),
    },
    {
      name: 'waits until the deleted one is gone',
      spec: { replicas: 2 },
      pods: [podNamed('a', stale), podNamed('b', { ...stale, terminating: true }), podNamed('d', ready)],
    },
    {
      name: 'goes on when the old one is gone',
      spec: { replicas: 2 },
      pods: [podNamed('a', stale), podNamed('d', ready)],
      create: 1,
    },
    {
      name: 'makes room when the new one finds no card',
      spec: { replicas: 1 },
      pods: [podNamed('a', stale), podNamed('b', { unschedulable: 'Insufficient cards' })],
      drain: ['a'],
    },
    {
      name: 'does not keep an old one that serves nobody',
      spec: { replicas: 1 },
      pods: [podNamed('a', { hash: 'old' })],
      delete: ['a'],
      create: 1,
    },
    {
      name: 'keeps the old ones when the new spec cannot start',
      spec: { replicas: 1 },
      pods: [podNamed('a', stale), podNamed('b', { hash: 'old' })],
      facts: { files: { state: 'missing' } },
      delete: ['b'],
      phase: 'Ready',
    },
    {
      name: 'takes all away when it is put to sleep meanwhile',
      pods: [podNamed('a', stale), podNamed('b', ready)],
      drain: ['a', 'b'],
    },
  ])('$name', (row) => {
    expect(plannedIn(row)).toEqual(wantedIn(row))
  })

  it.each([
    ['args', { args: ['--max-model-len', '2048'] }],
    ['url', { url: 'pvc://userdata/models/other' }],
    ['engine', { engine: 'VLLM' }],
    ['resourceProfile', { resourceProfile: 'nvidia.com/gpu-h800:2' }],
    ['imagePullSecrets', { imagePullSecrets: ['s'] }],
  ])('is noticed: %s', (_field, spec) => {
    expect(planPods(modelWith({ replicas: 1, ...spec }), [podNamed('a', ready)], factsWith()).create).toHaveLength(1)
  })

  it.each([
    ['scaling', { targetRequests: 3, scaleDownDelaySeconds: 1, owner: 'x', maxReplicas: 4 }],
    ['default said by its name', { resourceProfile: `${card}:1` }],
  ])('is not one: %s', (_field, spec) => {
    expect(planPods(modelWith({ replicas: 1, ...spec }), [podNamed('a', ready)], factsWith()).create).toEqual([])
  })
})

describe('a failed Pod', () => {
  const failedAgo = (seconds: number, failures?: number): PodFacts => ({
    phase: 'Failed',
    ...(failures === undefined ? {} : { failures }),
    container: {
      state: { terminated: { exitCode: 1, finishedAt: new Date(now - seconds * 1000).toISOString() } },
    },
  })

  it.each<Case>([
    {
      name: 'keeps its place for a while',
      spec: { replicas: 1 },
      pods: [podNamed('a', failedAgo(9))],
      phase: 'Waking',
      message: /exit code 1/,
    },
    {
      name: 'is replaced after 10 s',
      spec: { replicas: 1 },
      pods: [podNamed('a', failedAgo(10))],
      delete: ['a'],
      create: 1,
    },
    {
      name: 'is replaced later when others failed before it',
      spec: { replicas: 1 },
      pods: [podNamed('a', failedAgo(79, 3))],
      phase: 'Failed',
    },
    {
      name: 'is never waited for longer than 5 min',
      spec: { replicas: 1 },
      pods: [podNamed('a', failedAgo(300, 50))],
      delete: ['a'],
      create: 1,
    },
    {
      name: 'is just removed from a sleeping model',
      pods: [podNamed('a', failedAgo(1))],
      delete: ['a'],
      phase: 'Asleep',
    },
    {
      name: 'of an old spec is replaced at once',
      spec: { replicas: 1 },
      pods: [podNamed('a', { ...failedAgo(1), hash: 'old' })],
      delete: ['a'],
      create: 1,
    },
  ])('$name', (row) => {
    expect(plannedIn(row)).toEqual(wantedIn(row))
  })

  it('tells its successor how many failed before', () => {
    const { create } = planPods(modelWith({ replicas: 1 }), [podNamed('a', failedAgo(100, 2))], factsWith())
    expect(create[0]?.metadata.annotations?.[failuresAnnotation]).toBe('3')
  })

  it('asks for another look when its time comes', () => {
    const { checkAgainMs } = planPods(modelWith({ replicas: 1 }), [podNamed('a', failedAgo(4))], factsWith())
    expect(checkAgainMs).toBe(6_000)
  })
})
