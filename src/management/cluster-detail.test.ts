import { describe, expect, it } from 'vitest'
import { type Cluster, clusterSchema } from '../resources/cluster.ts'
import { type Node, nodeSchema } from '../resources/node.ts'
import { type Pod, podSchema } from '../resources/pod.ts'
import { cardDisplayName } from './card-name.ts'
import { clusterDetail } from './cluster-detail.ts'

const l40s = 'nvidia.com/gpu-l40s'
const h800 = 'nvidia.com/gpu-h800'

function clusterWith(about: { phase?: string; deleting?: boolean } = {}): Cluster {
  return clusterSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Cluster',
    metadata: { name: 'vks-1', ...(about.deleting ? { deletionTimestamp: '2030-01-01T00:00:00Z' } : {}) },
    spec: { displayName: 'first', enterprise: 'acme', center: 'local-1' },
    ...(about.phase === undefined ? {} : { status: { phase: about.phase } }),
  })
}

function nodeWith(allocatable: Record<string, string>, about: { ready?: boolean; simulated?: boolean } = {}): Node {
  return nodeSchema.parse({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n', labels: about.simulated ? { 'sluice.dev/simulated-cards': 'true' } : {} },
    status: { allocatable, conditions: [{ type: 'Ready', status: about.ready === false ? 'False' : 'True' }] },
  })
}

type Amounts = Record<string, string>

function podWith(
  requests: Amounts,
  about: { limits?: Amounts; phase?: string; bound?: boolean; init?: Amounts; terminating?: boolean } = {},
): Pod {
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', ...(about.terminating ? { deletionTimestamp: '2030-01-01T00:00:00Z' } : {}) },
    spec: {
      ...(about.bound === false ? {} : { nodeName: 'n' }),
      containers: [{ name: 'c', resources: { requests, limits: about.limits ?? {} } }],
      ...(about.init ? { initContainers: [{ name: 'i', resources: { requests: about.init } }] } : {}),
    },
    status: { phase: about.phase ?? 'Running' },
  })
}

describe('clusterDetail', () => {
  it('has exactly the fields of the interface', () => {
    const nodes = [nodeWith({ cpu: '128', memory: '512Gi', [h800]: '16' })]
    const pods = [podWith({ cpu: '500m', memory: '512Mi' }, { limits: { [h800]: '2' } })]
    expect(clusterDetail(clusterWith(), nodes, pods)).toEqual({
      id: 'vks-1',
      name: 'first',
      status: 'Running',
      utilizationRate: {
        gpu: [{ name: h800, displayName: 'NVIDIA H800', hard: 16, used: 2, ratio: '1:8:32' }],
        mem: { hard: 512, used: 1 },
        cpu: { hard: 128, used: 1 },
      },
    })
  })

  it('lists a kind of card that is there but unused, and none where there is none', () => {
    expect(clusterDetail(clusterWith(), [nodeWith({ cpu: '2', [l40s]: '4' })], []).utilizationRate.gpu).toMatchObject([
      { name: l40s, hard: 4, used: 0 },
    ])
    expect(clusterDetail(clusterWith(), [nodeWith({ cpu: '2', memory: '4Gi' })], []).utilizationRate).toEqual({
      gpu: [],
      mem: { hard: 4, used: 0 },
      cpu: { hard: 2, used: 0 },
    })
  })

  it.each([
    ['one that runs', podWith({ [l40s]: '1' }), 1],
    ['one that is going but not gone', podWith({ [l40s]: '1' }, { terminating: true }), 1],
    ['one that is not placed', podWith({ [l40s]: '1' }, { bound: false }), 0],
    ['one that succeeded', podWith({ [l40s]: '1' }, { phase: 'Succeeded' }), 0],
    ['one that failed', podWith({ [l40s]: '1' }, { phase: 'Failed' }), 0],
    ['one whose init container wants more', podWith({ [l40s]: '1' }, { init: { [l40s]: '3' } }), 3],
  ])('counts the cards of a Pod: %s', (_name, pod, used) => {
    const { gpu } = clusterDetail(clusterWith(), [nodeWith({ [l40s]: '4' })], [pod]).utilizationRate
    expect(gpu).toMatchObject([{ used }])
  })

  it('has the quota as what there is, and of what that does not name all that the nodes have', () => {
    const cluster = { ...clusterWith(), spec: { ...clusterWith().spec, quota: { cpu: '4', [l40s]: '1' } } }
    const { utilizationRate } = clusterDetail(cluster, [nodeWith({ cpu: '16', memory: '64Gi', [l40s]: '8' })], [])
    expect(utilizationRate).toMatchObject({ gpu: [{ hard: 1 }], cpu: { hard: 4 }, mem: { hard: 64 } })
  })

  it('counts what a node has, whoever has it at the moment', () => {
    const node = nodeWith({ cpu: '2', [l40s]: '0' })
    const capacity = { cpu: '2', [l40s]: '2' }
    const { gpu } = clusterDetail(
      clusterWith(),
      [{ ...node, status: { ...node.status, capacity } }],
      [],
    ).utilizationRate
    expect(gpu).toMatchObject([{ hard: 2, used: 0 }])
  })

  it('adds up nodes and Pods exactly, and rounds only the sum', () => {
    const nodes = [nodeWith({ cpu: '1500m', memory: '1536Mi' }), nodeWith({ cpu: '1500m', memory: '1536Mi' })]
    const pods = Array.from({ length: 10 }, () => podWith({ cpu: '100m', memory: '100Mi' }))
    expect(clusterDetail(clusterWith(), nodes, pods).utilizationRate).toMatchObject({
      cpu: { hard: 3, used: 1 },
      mem: { hard: 3, used: 1 },
    })
  })

  it('does not show more in use than there is by rounding alone', () => {
    const detail = clusterDetail(clusterWith(), [nodeWith({ cpu: '1900m' })], [podWith({ cpu: '1500m' })])
    expect(detail.utilizationRate.cpu).toEqual({ hard: 1, used: 1 })
  })

  it('says which cards are simulated', () => {
    const real = nodeWith({ [l40s]: '1' })
    const simulated = nodeWith({ [l40s]: '1' }, { simulated: true })
    const nameOf = (nodes: Node[]) => clusterDetail(clusterWith(), nodes, []).utilizationRate.gpu[0]?.displayName
    expect(nameOf([simulated])).toBe('NVIDIA L40S (simulated)')
    expect(nameOf([simulated, real])).toBe('NVIDIA L40S (partly simulated)')
    expect(nameOf([real])).toBe('NVIDIA L40S')
  })

  it('shares a node out over all its cards, at least one core and one GiB each', () => {
    const nodes = [nodeWith({ cpu: '16', memory: '64Gi', [l40s]: '2', [h800]: '6' })]
    expect(clusterDetail(clusterWith(), nodes, []).utilizationRate.gpu.map(({ ratio }) => ratio)).toEqual([
      '1:2:8',
      '1:2:8',
    ])
    const small = [nodeWith({ cpu: '2', memory: '3Gi', [l40s]: '4' })]
    expect(clusterDetail(clusterWith(), small, []).utilizationRate.gpu[0]?.ratio).toBe('1:1:1')
  })

  it.each([
    ['Running', clusterWith(), true, true],
    ['Running', clusterWith({ phase: 'Abnormal' }), true, true],
    ['Creating', clusterWith(), false, true],
    ['Creating', clusterWith({ phase: 'Creating' }), true, false],
    ['Abnormal', clusterWith({ phase: 'Running' }), false, true],
    ['Abnormal', clusterWith({ phase: 'Running' }), true, false],
    ['Deleting', clusterWith({ deleting: true }), true, true],
  ])('is %s', (status, cluster, ready, answers) => {
    expect(clusterDetail(cluster, [nodeWith({ cpu: '1' }, { ready })], [], answers).status).toBe(status)
  })
})

describe('cardDisplayName', () => {
  it.each([
    ['nvidia.com/gpu-l40s', 'NVIDIA L40S'],
    ['nvidia.com/gpu-h800-80gb-hbm3', 'NVIDIA H800 80GB HBM3'],
    ['nvidia.com/gpu-h800-pcie', 'NVIDIA H800 PCIe'],
    ['amd.com/gpu-mi300x', 'AMD MI300X'],
    ['example.com/gpu-x1', 'Example X1'],
  ])('%s → %s', (resource, name) => {
    expect(cardDisplayName(resource)).toBe(name)
  })
})
