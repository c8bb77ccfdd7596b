import { describe, expect, it } from 'vitest'
import { drainingAnnotation, modelHashLabel } from '../resources/model-labels.ts'
import { type Model, modelSchema } from '../resources/model.ts'
import { type Pod, podSchema } from '../resources/pod.ts'
import { failuresAnnotation } from './model-pod.ts'
import type { OperatorFacts } from './operator-facts.ts'
import { planPods } from './plan-pods.ts'
import { builtInProfiles } from './resource-profile.ts'

const now = Date.UTC(2030, 0, 1)
const card = 'nvidia.com/gpu-l40s'

function modelWith(spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}): Model {
  return modelSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Model',
    metadata: { name: 'm', namespace: 'sluice', uid: 'model-uid', generation: 3, ...metadata },
    spec: { url: 'pvc://userdata/models/smol', engine: 'LlamaCpp', maxReplicas: 5, ...spec },
  })
}

function factsWith(facts: Partial<OperatorFacts> = {}): OperatorFacts {
  return {
    now,
    registry: 'registry.local-1.localhost',
    version: '0.1.0',
    files: { state: 'present' },
    profiles: { table: builtInProfiles, cardKinds: [card] },
    drainDeadlineMs: 600_000,
    drainingMs: ({ metadata }) => (facts.now ?? now) - Date.parse(metadata.annotations?.[drainingAnnotation] ?? ''),
    busy: () => 0,
    suffix: (index) => `rand${index}`,
    ...facts,
  }
}

const freshHash =
  planPods(modelWith({ replicas: 1 }), [], factsWith()).create[0]?.metadata.labels?.[modelHashLabel] ?? ''

interface PodFacts {
  hash?: string
  ready?: boolean
  /** Milliseconds ago. */
  draining?: number
  terminating?: boolean
  phase?: string
  failures?: number
  unschedulable?: string
  container?: Record<string, unknown>
  status?: Record<string, unknown>
  created?: string
  owner?: string
}

function podNamed(name: string, about: PodFacts = {}): Pod {
  const { hash = freshHash, ready = false, owner = 'model-uid', phase = ready ? 'Running' : 'Pending' } = about
  const draining = about.draining === undefined ? undefined : new Date(now - about.draining).toISOString()
  const container = { name: 'engine', ready, restartCount: 0, image: 'i', imageID: 'i', ...about.container }
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'sluice',
      uid: `uid-${name}`,
      creationTimestamp: about.created ?? '2029-12-31T00:00:00Z',
      labels: { [modelHashLabel]: hash },
      annotations: {
        ...(draining === undefined ? {} : { [drainingAnnotation]: draining }),
        ...(about.failures === undefined ? {} : { [failuresAnnotation]: String(about.failures) }),
      },
      ...(about.terminating ? { deletionTimestamp: '2030-01-01T00:00:00Z' } : {}),
      ownerReferences: [{ apiVersion: 'sluice.dev/v1', kind: 'Model', name: 'm', uid: owner, controller: true }],
    },
    spec: { containers: [{ name: 'engine' }] },
    status: {
      phase,
      conditions: [
        { type: 'Ready', status: ready ? 'True' : 'False' },
        ...(about.unschedulable
          ? [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: about.unschedulable }]
          : []),
      ],
      containerStatuses: about.container ? [container] : [],
      ...about.status,
    },
  })
}

interface Case {
  name: string
  spec?: Record<string, unknown>
  pods?: Pod[]
  facts?: Partial<OperatorFacts>
  create?: number
  recall?: string[]
  drain?: string[]
  delete?: string[]
  phase?: string
  message?: RegExp
}

const busyBy = (table: Record<string, number | undefined>) => ({ busy: (name: string) => table[name] })

function check({ spec, pods = [], facts, phase, message, ...expected }: Case) {
  const plan = planPods(modelWith(spec), pods, factsWith(facts))
  const names = (list: readonly Pod[]) => list.map(({ metadata }) => metadata.name).sort()
  expect({
    create: plan.create.length,
    recall: names(plan.recall),
    drain: names(plan.drain),
    delete: names(plan.delete),
  }).toEqual({
    create: expected.create ?? 0,
    recall: expected.recall ?? [],
    drain: expected.drain ?? [],
    delete: expected.delete ?? [],
  })
  expect(plan.status.phase).toBe(phase ?? plan.status.phase)
  expect(plan.status.message).toMatch(message ?? /./)
}

const ready = { ready: true }
const stale = { ready: true, hash: 'old' }

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
  ])('$name', check)
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
  ])('$name', check)
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
  ])('$name', check)

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
  ])('$name', check)

  it('tells its successor how many failed before', () => {
    const { create } = planPods(modelWith({ replicas: 1 }), [podNamed('a', failedAgo(100, 2))], factsWith())
    expect(create[0]?.metadata.annotations?.[failuresAnnotation]).toBe('3')
  })

  it('asks for another look when its time comes', () => {
    const { checkAgainMs } = planPods(modelWith({ replicas: 1 }), [podNamed('a', failedAgo(4))], factsWith())
    expect(checkAgainMs).toBe(6_000)
  })
})

describe('why a model is not ready', () => {
  const waiting = (reason: string, message?: string, restartCount = 0, lastState?: unknown): PodFacts => ({
    container: {
      image: 'reg/x:1',
      restartCount,
      state: { waiting: { reason, message } },
      ...(lastState ? { lastState } : {}),
    },
  })
  const ended = { terminated: { exitCode: 1, reason: 'Error', message: 'loading\nno such tensor\n' } }

  const rows: Case[] = [
    {
      name: 'no card is free: it waits',
      pods: [podNamed('a', { unschedulable: '0/1 nodes are available: 1 Insufficient nvidia.com/gpu-l40s' })],
      phase: 'Waking',
      message: /^No node has room yet: .*Insufficient nvidia\.com\/gpu-l40s\.$/,
    },
    {
      name: 'the engine loads',
      pods: [podNamed('a', { phase: 'Running' })],
      phase: 'Waking',
      message: /loading the model in a/,
    },
    {
      name: 'the image is refused',
      pods: [podNamed('a', waiting('ErrImagePull', 'known: llama-cpp'))],
      phase: 'Failed',
      message: /reg\/x:1 was refused: known: llama-cpp\./,
    },
    {
      name: 'the node cannot start it yet',
      pods: [podNamed('a', waiting('ContainerCreating', 'no card is free'))],
      phase: 'Waking',
      message: /^The engine waits to be started: no card is free\.$/,
    },
    {
      name: 'the engine ended once: it is tried again',
      pods: [podNamed('a', waiting('CrashLoopBackOff', 'back-off', 1, ended))],
      phase: 'Waking',
      message: /2 times; last: exit code 1: no such tensor\./,
    },
    {
      name: 'the engine ends again and again',
      pods: [podNamed('a', waiting('CrashLoopBackOff', 'back-off', 3, ended))],
      phase: 'Failed',
      message: /4 times; last: exit code 1: no such tensor\./,
    },
    {
      name: 'one Pod may still come',
      spec: { replicas: 2 },
      pods: [podNamed('a', waiting('ErrImagePull')), podNamed('b')],
      phase: 'Waking',
      message: /b is starting/,
    },
    {
      name: 'some serve, the rest find no room',
      spec: { replicas: 2 },
      pods: [podNamed('a', ready), podNamed('b', { unschedulable: 'no card' })],
      phase: 'Ready',
      message: /^1 of 2 Pods ready\. No node has room yet: no card\.$/,
    },
    {
      name: 'the files are missing',
      facts: { files: { state: 'missing', message: 'Nothing at x.' } },
      phase: 'Failed',
      message: /^Nothing at x\.$/,
    },
    {
      name: 'the files are on their way',
      facts: { files: { state: 'missing', message: '40 % here.', pending: true } },
      phase: 'Waking',
      message: /40 %/,
    },
    {
      name: 'nobody knows about the files: it tries',
      facts: { files: { state: 'unknown' } },
      create: 1,
      phase: 'Waking',
    },
    {
      name: 'the engine cannot run here',
      spec: { engine: 'VLLM', replicas: 1 },
      facts: { engineUnavailable: 'VLLM needs vllm on this machine.' },
      phase: 'Failed',
      message: /needs vllm/,
    },
    {
      name: 'the profile is not known',
      spec: { replicas: 1, resourceProfile: 'x.com/gpu-y:1' },
      phase: 'Failed',
      message: /x\.com\/gpu-y is not known here\. Known: default, nvidia\.com\/gpu-h800, nvidia\.com\/gpu-l40s\./,
    },
    {
      name: 'the cluster has no card at all',
      facts: { profiles: { table: builtInProfiles, cardKinds: [] } },
      phase: 'Failed',
      message: /no GPU card/,
    },
    {
      name: 'the cluster refused the Pod',
      facts: { podRefused: 'exceeded quota' },
      phase: 'Failed',
      message: /exceeded quota/,
    },
    {
      name: 'asleep, it says so beforehand',
      spec: { replicas: 0 },
      facts: { files: { state: 'missing', message: 'Nothing at x.' } },
      phase: 'Asleep',
      message: /cannot wake: Nothing at x/,
    },
  ]
  it.each<Case>(rows.map((row) => ({ spec: { replicas: 1 }, ...row })))('$name', check)

  it('looks for missing files again every 2 s', () => {
    const facts = factsWith({ files: { state: 'missing' } })
    expect(planPods(modelWith({ replicas: 1 }), [], facts).checkAgainMs).toBe(2_000)
    expect(planPods(modelWith(), [], factsWith()).checkAgainMs).toBeUndefined()
  })
})

describe('the status', () => {
  it('counts, names the selector and tells which generation it is about', () => {
    const pods = [podNamed('a', ready), podNamed('b'), podNamed('c', { ...ready, draining: 1_000 })]
    expect(planPods(modelWith({ replicas: 2 }), pods, factsWith()).status).toMatchObject({
      phase: 'Ready',
      replicas: 3,
      readyReplicas: 1,
      selector: 'sluice.dev/model=m',
      observedGeneration: 3,
      conditions: [
        { type: 'Ready', status: 'True', reason: 'PodsReady', observedGeneration: 3 },
        { type: 'FilesPresent', status: 'True' },
        { type: 'EngineAvailable', status: 'True' },
      ],
    })
  })

  it('is the same as long as nothing happens, so that nothing is written', () => {
    const first = planPods(modelWith(), [], factsWith()).status
    const model = { ...modelWith(), status: first }
    expect(planPods(model, [], factsWith({ now: now + 3_600_000 })).status).toEqual(first)
  })

  it('keeps conditions of others', () => {
    const model = { ...modelWith(), status: { conditions: [{ type: 'Other', status: 'True' as const }] } }
    expect(planPods(model, [], factsWith()).status.conditions?.map(({ type }) => type)).toContain('Other')
  })
})
