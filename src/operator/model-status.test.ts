import { describe, expect, it } from 'vitest'
import type { ModelLoading } from '../resources/model.ts'
import type { OperatorFacts } from './operator-facts.ts'
import {
  type Case,
  type PodFacts,
  card,
  factsWith,
  modelWith,
  now,
  plannedIn,
  podNamed,
  ready,
  wantedIn,
} from './plan-pods.fixture.ts'
import { planPods } from './plan-pods.ts'
import { builtInProfiles } from './resource-profile.ts'

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
      phase: 'Failed',
      message: /^Nothing at x/,
    },
    {
      name: 'asleep, its files are not what the engine serves',
      spec: { replicas: 0 },
      facts: { files: { state: 'unusable', message: 'x has several models.' } },
      phase: 'Failed',
      message: /^x has several models/,
    },
    {
      name: 'its files are on their way',
      spec: { replicas: 0 },
      facts: { files: { state: 'missing', pending: true, message: 'fetching m, 3 %' } },
      phase: 'Asleep',
      message: /^Asleep\. fetching m, 3 %/,
    },
    {
      name: 'the engine has no such option',
      spec: { replicas: 0, args: ['--threads', '2', '--max-num-seqs=2', '--warp=9'] },
      phase: 'Failed',
      message: /LlamaCpp has no option --warp; take it out of spec\.args\. It has: --host, .*--threads\.$/,
    },
  ]
  it.each<Case>(rows.map((row) => ({ spec: { replicas: 1 }, ...row })))('$name', (row) => {
    expect(plannedIn(row)).toEqual(wantedIn(row))
  })

  it.each<[number, Partial<OperatorFacts>]>([
    [1_000, { files: { state: 'missing' } }],
    [1_000, { files: { state: 'unusable' } }],
    [10_000, { engineUnavailable: 'VLLM needs vllm on this machine.' }],
  ])('looks again after %i ms for what no event tells: %j', (checkAgainMs, facts) => {
    expect(planPods(modelWith({ replicas: 1 }), [], factsWith(facts)).checkAgainMs).toBe(checkAgainMs)
    expect(planPods(modelWith(), [], factsWith(facts)).checkAgainMs).toBe(checkAgainMs)
    expect(planPods(modelWith(), [], factsWith()).checkAgainMs).toBeUndefined()
  })

  it('lets a profile with an image of its own have options of its own', () => {
    const profiles = { table: { default: { images: { LlamaCpp: 'mine' } } }, cardKinds: [card] }
    const model = modelWith({ replicas: 1, args: ['--warp=9'] })
    expect(planPods(model, [], factsWith({ profiles })).create).toHaveLength(1)
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

describe('a model that no node can hold', () => {
  const profiles = {
    table: builtInProfiles,
    cardKinds: ['nvidia.com/gpu-l40s'],
    largestNode: new Map([['nvidia.com/gpu-l40s', 2]]),
  }
  const statusOf = (resourceProfile: string, facts: Partial<typeof profiles> = {}, replicas = 0) => {
    const model = modelWith({ resourceProfile, replicas })
    const { status, create } = planPods(model, [], factsWith({ profiles: { ...profiles, ...facts } }))
    return { phase: status.phase, message: status.message, reason: status.conditions?.[0]?.reason, pods: create.length }
  }

  it.each([
    ['nvidia.com/gpu-h800:1', 'NoSuchCard', 'No node has nvidia.com/gpu-h800.'],
    ['nvidia.com/gpu-l40s:4', 'NoSuchCard', 'No node has 4 nvidia.com/gpu-l40s; the largest has 2.'],
    ['default:3', 'NoSuchCard', 'No node has 3 nvidia.com/gpu-l40s; the largest has 2.'],
    ['amd.com/gpu-mi300:1', 'ProfileUnknown', /^The resource profile amd.com\/gpu-mi300 is not known here/],
  ])('says so without being asked, so that requests are refused at once: %s', (profile, reason, message) => {
    const expected = { phase: 'Failed', reason, message: expect.stringMatching(message), pods: 0 }
    expect(statusOf(profile)).toEqual(expected)
    expect(statusOf(profile, {}, 1)).toEqual(expected)
  })

  it('says so in a cluster without any card', () => {
    const none = { cardKinds: [], largestNode: new Map<string, number>() }
    expect(statusOf('default:1', none)).toMatchObject({
      phase: 'Failed',
      message: expect.stringMatching(/^This cluster has no GPU card/),
    })
    expect(statusOf('nvidia.com/gpu-h800:1', none)).toMatchObject({ message: 'No node has nvidia.com/gpu-h800.' })
  })

  it('can be woken as soon as a node with such cards is there', () => {
    const largestNode = new Map([['nvidia.com/gpu-h800', 8]])
    expect(statusOf('nvidia.com/gpu-h800:8', { largestNode })).toMatchObject({ phase: 'Asleep' })
    expect(statusOf('nvidia.com/gpu-h800:8', { largestNode }, 1)).toMatchObject({ phase: 'Waking', pods: 1 })
  })
})

it('a model of another namespace than the gateway’s holds no card, and says where it would be served', () => {
  const model = modelWith({ minReplicas: 1 }, { namespace: 'default' })
  const pod = podNamed('a', { ready: true })
  const running = { ...pod, metadata: { ...pod.metadata, namespace: 'default' } }
  const { status, create, drain } = planPods(model, [running], factsWith())
  expect([create, drain.map(({ metadata }) => metadata.name)]).toEqual([[], ['a']])
  expect(status.phase).toBe('Draining')
  expect(planPods(model, [], factsWith()).status).toMatchObject({
    phase: 'Failed',
    message: 'The gateway serves Models of the namespace sluice only; create it there.',
  })
})

describe('how far a load is', () => {
  const loading: ModelLoading = {
    phase: 'Reading',
    percent: 45,
    bytes: 2_100_000_000,
    totalBytes: 4_660_000_000,
    progress: '45 %',
    since: '2030-01-01T00:00:00Z',
    movedAt: '2030-01-01T00:00:40Z',
  }
  const statusOf = (shown: ModelLoading, pods = [podNamed('a', { phase: 'Running' })]) => {
    const startProgress = () => ({ loadingMs: 45_000, lastLine: undefined, silentMs: 0, loading: shown })
    return planPods(modelWith({ replicas: pods.length }), pods, { ...factsWith(), startProgress }).status
  }

  it('is in the status, and in its sentence', () => {
    const status = statusOf(loading)
    expect(status).toMatchObject({
      phase: 'Waking',
      loading,
      message: 'The model has been loading in a for 40 s: its files are being read, 45 % (2.1 of 4.7 GB).',
    })
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', reason: 'Loading' }))
  })

  it('says that it has stalled', () => {
    const status = statusOf({ ...loading, stalled: true })
    expect(status.message).toContain('45 % (2.1 of 4.7 GB), but nothing has moved for a while.')
    expect(status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', reason: 'LoadingStalled' }))
  })

  it('is told of a further Pod while others answer, and no longer when all do', () => {
    expect(statusOf(loading, [podNamed('a', ready), podNamed('b', { phase: 'Running' })])).toMatchObject({
      phase: 'Ready',
      loading,
    })
    expect(statusOf(loading, [podNamed('a', ready)])).not.toHaveProperty('loading')
  })

  it('leaves how long it took, for those who wait for the next', () => {
    const model = modelWith({ replicas: 1 })
    const facts = { ...factsWith(), loadSeconds: () => 42 }
    const { status } = planPods(model, [podNamed('a', ready)], facts)
    expect(status.lastLoadSeconds).toBe(42)
    const asleep = planPods({ ...modelWith({ replicas: 0 }), status }, [], factsWith()).status
    expect(asleep).toMatchObject({ phase: 'Asleep', lastLoadSeconds: 42 })
  })
})
