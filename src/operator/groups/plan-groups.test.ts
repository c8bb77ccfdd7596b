import { describe, expect, it } from 'vitest'
import { drainingAnnotation, modelHashLabel } from '../../resources/model-labels.ts'
import { type Pod, podSchema } from '../../resources/pod.ts'
import { groupGate, membershipOf, placingAnnotation } from '../../resources/serving-group.ts'
import { endpointOf } from '../../traffic/endpoints/pod-endpoint.ts'
import { parseEngines } from '../engines/engine-file.ts'
import type { NewPod } from '../model-pod.ts'
import type { OperatorFacts } from '../operator-facts.ts'
import { factsWith, modelWith, now } from '../plan-pods.fixture.ts'
import { planPods } from '../plan-pods.ts'
import { builtInProfiles } from '../resource-profile.ts'

const card = 'nvidia.com/gpu-h800'
const grouped = (spec: Record<string, unknown> = {}) =>
  modelWith({ engine: 'VLLM', resourceProfile: `${card}:16`, replicas: 1, ...spec })
const nodesWith = (...nodes: readonly number[]) => ({
  profiles: {
    table: builtInProfiles,
    cardKinds: [card],
    largestNode: new Map([[card, Math.max(...nodes)]]),
    nodeCards: new Map([[card, nodes]]),
  },
})
const facts = (more: Partial<OperatorFacts> = {}) => factsWith({ ...nodesWith(8, 8), ...more })

interface MemberState {
  readonly gated?: boolean
  readonly node?: string
  readonly ready?: boolean
  readonly phase?: string
  readonly terminating?: boolean
  /** For so many milliseconds it could be placed. */
  readonly placingMs?: number
  readonly draining?: boolean
}

function existing(pod: NewPod, state: MemberState = {}): Pod {
  const { gated = false, node, ready = false, terminating = false, placingMs = 1_000, draining = false } = state
  const phase = state.phase ?? (node === undefined ? 'Pending' : 'Running')
  const since = new Date(now - placingMs).toISOString()
  return podSchema.parse({
    ...pod,
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...pod.metadata,
      uid: `uid-${pod.metadata.name}`,
      creationTimestamp: new Date(now - 60_000).toISOString(),
      annotations: {
        ...pod.metadata.annotations,
        ...(!gated && { [placingAnnotation]: since }),
        ...(draining && { [drainingAnnotation]: new Date(now - 5_000).toISOString() }),
      },
      ...(terminating && { deletionTimestamp: new Date(now).toISOString() }),
    },
    spec: { ...pod.spec, nodeName: node, schedulingGates: gated ? pod.spec.schedulingGates : undefined },
    status: {
      phase,
      startTime: since,
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  })
}

const fresh = (model = grouped()) => planPods(model, [], facts()).create
const groupIn = (...states: readonly MemberState[]) => fresh().map((pod, rank) => existing(pod, states[rank]))
const serving = () => groupIn({ node: 'a', ready: true }, { node: 'b', ready: true })
const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name.split('-').at(-1))
const planned = (pods: readonly Pod[], more: Partial<OperatorFacts> = {}, model = grouped()) => {
  const { create, delete: remove, drain, recall, lift, status, checkAgainMs } = planPods(model, pods, facts(more))
  const done = { create: create.length, delete: names(remove), drain: names(drain), recall: names(recall) }
  return { ...done, lift: lift.map(names), status, checkAgainMs }
}

describe('a replica that is larger than a node', () => {
  const [leader, worker] = fresh()

  it('is one leader and its workers, all of which are held back', () => {
    expect(fresh()).toHaveLength(2)
    expect(fresh().map((pod) => membershipOf(existing(pod)))).toEqual([
      { group: expect.stringMatching(/^model-m-.{5}-rand0$/), rank: 0, size: 2 },
      { group: expect.stringMatching(/^model-m-.{5}-rand0$/), rank: 1, size: 2 },
    ])
    for (const pod of fresh()) {
      expect(pod.spec).toMatchObject({ schedulingGates: [{ name: groupGate }], restartPolicy: 'Never' })
      expect(pod.spec.containers[0]?.resources?.limits).toEqual({ [card]: '8' })
      expect(pod.spec.containers[0]?.resources?.requests).toMatchObject({ cpu: '8', memory: '32Gi' })
    }
  })

  it('tells each member its rank, the size and where the leader is', () => {
    const address = `${leader?.metadata.name}.model-m-group.sluice.svc`
    expect(leader?.spec).toMatchObject({ hostname: leader?.metadata.name, subdomain: 'model-m-group' })
    for (const [rank, pod] of [leader, worker].entries()) {
      expect(pod?.spec.containers[0]?.env).toEqual(
        expect.arrayContaining([
          { name: 'SLUICE_GROUP_RANK', value: String(rank) },
          { name: 'SLUICE_GROUP_SIZE', value: '2' },
          { name: 'SLUICE_GROUP_LEADER', value: address },
        ]),
      )
    }
  })

  it("has vLLM's own flags, and the tensor parallel size of the whole group", () => {
    const text = (pod: NewPod | undefined) => pod?.spec.containers[0]?.args?.join(' ')
    const meeting = (rank: number) =>
      `--distributed-executor-backend mp --nnodes 2 --node-rank ${rank} --master-addr ${leader?.metadata.name}.model-m-group.sluice.svc --master-port 29500`
    expect(text(leader)).toContain('--tensor-parallel-size 16')
    expect(text(leader)?.endsWith(meeting(0))).toBe(true)
    expect(text(worker)?.endsWith(`${meeting(1)} --headless`)).toBe(true)
  })

  it("leaves the last word to the Model's own arguments", () => {
    const args = ['--tensor-parallel-size', '8', '--pipeline-parallel-size', '2']
    const [own] = fresh(grouped({ args }))
    expect(own?.spec.containers[0]?.args?.slice(-4)).toEqual(args)
    const [ray] = fresh(grouped({ args: ['--distributed-executor-backend=ray'] }))
    expect(ray?.spec.containers[0]?.args).not.toContain('--nnodes')
  })

  it.each([
    ['the same', ['--distributed-executor-backend', 'mp'], true],
    ['the same', ['--distributed-executor-backend=mp', '--max-model-len', '9'], true],
    ['a port only', ['--master-port', '1234'], true],
    ['another backend', ['--distributed-executor-backend', 'ray'], false],
    ['its own ranks', ['--node-rank=$(SLUICE_GROUP_RANK)'], false],
    ['its own leader', ['--master-addr', 'elsewhere'], false],
  ])("has vLLM's flags unless the Model says how its members meet: %s", (_what, args, hasFlags) => {
    for (const pod of fresh(grouped({ args }))) {
      expect(pod.spec.containers[0]?.args?.includes('--nnodes')).toBe(hasFlags)
      expect(pod.spec.containers[0]?.env).toContainEqual({ name: 'VLLM_HOST_IP', value: '$(POD_IP)' })
    }
  })

  describe('of an engine that is nothing but values', () => {
    const enginesWith = (group: unknown) => parseEngines({ Lab: { image: 'lab', key: 'none', group } }, '--config')
    const told = {
      args: ['--nnodes', '{groupSize}', '--node-rank={groupRank}', '--dist-init-addr', '{groupLeader}:29500'],
      workerArgs: ['--quiet', '{modelName}'],
      env: { MEET: '{groupLeader}', LISTEN: '{host}:{port}' },
      unless: ['--nnodes'],
    }
    const lab = (group: unknown, args: readonly string[] = []) =>
      planPods(grouped({ engine: 'Lab', args }), [], facts({ engines: enginesWith(group) }))

    it('is told what the values say', () => {
      const [first, second] = lab(told, ['--own']).create
      const address = `${first?.metadata.name}.model-m-group.sluice.svc`
      const shared = (rank: number) => ['--nnodes', '2', `--node-rank=${rank}`, '--dist-init-addr', `${address}:29500`]
      expect(first?.spec.containers[0]?.args).toEqual([...shared(0), '--own'])
      expect(second?.spec.containers[0]?.args).toEqual([...shared(1), '--quiet', 'm', '--own'])
      expect(second?.spec.containers[0]?.env?.slice(-2)).toEqual([
        { name: 'MEET', value: address },
        { name: 'LISTEN', value: '$(POD_IP):8900' },
      ])
    })

    it('is told nothing more where the Model does it', () => {
      expect(lab(told, ['--nnodes=3']).create.map(({ spec }) => spec.containers[0]?.args)).toEqual([
        ['--nnodes=3'],
        ['--nnodes=3'],
      ])
    })

    it('has its variables, where the values say nothing', () => {
      const [first] = lab(undefined, ['--own']).create
      expect(first?.spec.containers[0]?.args).toEqual(['--own'])
      expect(first?.spec.containers[0]?.env).toContainEqual({ name: 'SLUICE_GROUP_RANK', value: '0' })
      expect(first?.spec.containers[0]?.env?.map(({ name }) => name)).not.toContain('VLLM_HOST_IP')
    })

    it('is not there if the values say so', () => {
      expect(lab('none').status.message).toMatch(/Lab runs on one node only/)
    })

    it('is replaced when the values say another thing, and a Model of one card is not', () => {
      const hashOf = (group: unknown, resourceProfile: string) =>
        planPods(grouped({ engine: 'Lab', resourceProfile }), [], facts({ engines: enginesWith(group) })).create[0]
          ?.metadata.labels?.[modelHashLabel]
      expect(hashOf(told, `${card}:16`)).not.toBe(hashOf({ ...told, unless: [] }, `${card}:16`))
      expect(hashOf(told, `${card}:1`)).toBe(hashOf(undefined, `${card}:1`))
    })
  })

  it('gets its requests at the leader only', () => {
    const withAddress = (pod: Pod) => ({ ...pod, status: { ...pod.status, podIP: '10.0.0.1' } })
    const [first, second] = serving().map((pod) => withAddress(pod))
    expect(first && endpointOf(first)?.standing).toBe('ready')
    expect(second && endpointOf(second)).toBeUndefined()
  })

  it('is not there for a model of an engine that runs on one node', () => {
    const { create, status } = planPods(grouped({ engine: 'LlamaCpp' }), [], facts())
    expect(create).toEqual([])
    expect(status.message).toBe(`No node has 16 ${card}; the largest has 8, and LlamaCpp runs on one node only.`)
  })
})

it('is not there where Pods cannot look each other up', () => {
  const { profiles } = nodesWith(8, 8)
  const { create, status } = planPods(
    grouped(),
    [],
    facts({ profiles: { ...profiles, groupsUnavailable: 'nobody knows why' } }),
  )
  expect(create).toEqual([])
  expect(status.message).toBe(`No node has 16 ${card}; the largest has 8, and nobody knows why.`)
})

describe('the plan for a group', () => {
  it('lets its Pods be placed when there is room for all of them', () => {
    const held = groupIn({ gated: true }, { gated: true })
    const asked: string[][] = []
    const room = (lack: string | undefined) => ({
      groupRoom: {
        lack: (pods: readonly Pod[]) => {
          asked.push(pods.map(({ metadata }) => metadata.name))
          return lack
        },
      },
    })
    expect(planned(held, room(undefined))).toMatchObject({ create: 0, delete: [], lift: [['0', '1']] })
    const waiting = planned(held, room('1 of 2 Pods of the group fit.'))
    expect(waiting).toMatchObject({ create: 0, delete: [], lift: [], checkAgainMs: 1_000 })
    expect(waiting.status).toMatchObject({
      phase: 'Waking',
      replicas: 1,
      readyReplicas: 0,
      message: 'No node has room yet: 1 of 2 Pods of the group fit.',
    })
    expect(asked[0]).toHaveLength(2)
  })

  it('counts a group once, and calls it ready when all of it is', () => {
    expect(planned(serving()).status).toMatchObject({
      phase: 'Ready',
      replicas: 1,
      readyReplicas: 1,
      message: '1 of 1 groups ready.',
      selector: 'sluice.dev/model=m,sluice.dev/group-rank=0',
    })
    const loading = groupIn({ node: 'a', ready: true }, { node: 'b' })
    expect(planned(loading).status).toMatchObject({ phase: 'Waking', replicas: 1, readyReplicas: 0 })
  })

  it('takes back a group that was placed in part, and holds the next one back for longer each time', () => {
    const half = groupIn({ node: 'a', placingMs: 30_000 }, { placingMs: 30_000 })
    expect(planned(groupIn({ node: 'a', placingMs: 29_000 }, { placingMs: 29_000 }))).toMatchObject({
      create: 0,
      delete: [],
      checkAgainMs: 1_000,
    })
    const { create, delete: remove } = planPods(grouped(), half, facts())
    expect(names(remove)).toEqual(['0', '1'])
    expect(create).toHaveLength(2)
    const next = create.map((pod) => existing(pod, { gated: true }))
    const young = next.map((pod) => ({
      ...pod,
      metadata: { ...pod.metadata, creationTimestamp: new Date(now - 9_000).toISOString() },
    }))
    expect(planned(young)).toMatchObject({ create: 0, delete: [], lift: [] })
    expect(planned(young).status.message).toMatch(/taken once before they were placed/)
    expect(planned(next)).toMatchObject({ lift: [['0', '1']] })
  })

  it('ends a group of which one failed at once, and replaces it after a while', () => {
    const broken = groupIn({ node: 'a', ready: true }, { node: 'b', phase: 'Failed', placingMs: 1_000 })
    expect(planned(broken)).toMatchObject({ create: 0, delete: ['0'], checkAgainMs: 9_000 })
    const ended = groupIn(
      { node: 'a', ready: true, terminating: true },
      { node: 'b', phase: 'Failed', placingMs: 10_000 },
    )
    const { create, delete: remove } = planPods(grouped(), ended, facts())
    expect(names(remove)).toEqual(['1'])
    expect(create.map(({ metadata }) => metadata.annotations?.['sluice.dev/failures'])).toEqual(['1', '1'])
  })

  it.each([
    [
      'is being deleted',
      [
        { node: 'a', ready: true },
        { node: 'b', terminating: true },
      ],
      2,
    ],
    ['is missing', [{ node: 'a', ready: true }], 1],
  ])('ends and replaces a group of which one %s', (_case, states, count) => {
    const pods = groupIn(...states).slice(0, count)
    expect(planned(pods)).toMatchObject({ create: 2, delete: ['0'] })
  })

  it('drains the leader, and then deletes all', () => {
    const asleep = grouped({ replicas: 0 })
    expect(planned(serving(), {}, asleep)).toMatchObject({ drain: ['0'], delete: [] })
    const drained = groupIn({ node: 'a', ready: true, draining: true }, { node: 'b', ready: true })
    expect(planned(drained, {}, asleep)).toMatchObject({ drain: [], delete: ['0', '1'] })
    expect(planned(drained, {}, asleep).status).toMatchObject({
      phase: 'Draining',
      message: expect.stringMatching(/^The last Pod finishes/),
    })
    expect(planned(drained, { busy: (name) => Number(name.endsWith('-0')) }, asleep)).toMatchObject({ delete: [] })
  })

  it('keeps a group that serves when the nodes are others, and replaces one that holds nothing yet', () => {
    const larger = nodesWith(16)
    expect(planned(serving(), larger)).toMatchObject({ create: 0, delete: [], drain: [] })
    const held = groupIn({ gated: true }, { gated: true })
    expect(planned(held, larger)).toMatchObject({ delete: ['0', '1'] })
  })

  it('rolls a changed Model group by group', () => {
    const changed = grouped({ args: ['--max-model-len', '4096'] })
    expect(planned(serving(), {}, changed)).toMatchObject({ create: 2, delete: [], drain: [] })
    const next = fresh(changed).map((pod) => existing(pod, { gated: true }))
    expect(next[0]?.metadata.labels?.[modelHashLabel]).not.toBe(serving()[0]?.metadata.labels?.[modelHashLabel])
    // There is no room beside the old one, so it makes way.
    const renamed = next.map((pod) => ({
      ...pod,
      metadata: {
        ...pod.metadata,
        name: pod.metadata.name.replace('rand0', 'next'),
        uid: `next-${pod.metadata.name}`,
        labels: { ...pod.metadata.labels, 'sluice.dev/serving-group': 'next' },
      },
    }))
    const full = { groupRoom: { lack: () => 'no room' } }
    expect(planned([...serving(), ...renamed], full, changed)).toMatchObject({ create: 0, drain: ['0'], lift: [] })
  })
})
