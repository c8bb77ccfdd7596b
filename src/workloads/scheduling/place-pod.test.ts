import { describe, expect, it } from 'vitest'
import { type Node, nodeSchema } from '../../resources/node.ts'
import { type Pod, podSchema } from '../../resources/pod.ts'
import { NodeLedger } from './node-ledger.ts'
import { placePod } from './place-pod.ts'
import { podRequests } from './pod-requests.ts'
import { toleratedMs } from './tolerated-taints.ts'

const l40s = 'nvidia.com/gpu-l40s'

function node(name: string, allocatable: Record<string, string>, extra: Record<string, unknown> = {}): Node {
  const ready = [{ type: 'Ready', status: extra['ready'] === false ? 'False' : 'True' }]
  return nodeSchema.parse({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: extra['labels'] },
    spec: { unschedulable: extra['unschedulable'], taints: extra['taints'] },
    status: { allocatable: { cpu: '4', memory: '8Gi', pods: '10', ...allocatable }, conditions: ready },
  })
}

function pod(
  name: string,
  resources: Record<string, unknown>,
  spec: Record<string, unknown> = {},
  extra: Record<string, unknown> = {},
): Pod {
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: name, ...extra },
    spec: { containers: [{ name: 'main', resources }], ...spec },
  })
}

const here = node('here', { [l40s]: '2' })
const limits = (amounts: Record<string, string>) => ({ limits: amounts })

const needs = (...nodeSelectorTerms: unknown[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
})
const expression = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
})

describe('node affinity', () => {
  const labelled = node('here', {}, { labels: { zone: 'a', generation: '7' } })

  it.each([
    ['In', needs(expression('zone', 'In', 'b', 'a')), true],
    ['In, another', needs(expression('zone', 'In', 'b')), false],
    ['NotIn', needs(expression('zone', 'NotIn', 'b')), true],
    ['NotIn of a label that is not there', needs(expression('colour', 'NotIn', 'b')), true],
    ['NotIn, this', needs(expression('zone', 'NotIn', 'a')), false],
    ['Exists', needs(expression('zone', 'Exists')), true],
    ['Exists, not there', needs(expression('colour', 'Exists')), false],
    ['DoesNotExist', needs(expression('colour', 'DoesNotExist')), true],
    ['DoesNotExist, there', needs(expression('zone', 'DoesNotExist')), false],
    ['Gt', needs(expression('generation', 'Gt', '6')), true],
    ['Gt, equal', needs(expression('generation', 'Gt', '7')), false],
    ['Lt', needs(expression('generation', 'Lt', '10')), true],
    ['Lt of what is no number', needs(expression('zone', 'Lt', '10')), false],
    ['its name', needs({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['here'] }] }), true],
    ['another name', needs({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['there'] }] }), false],
    ['one of two terms', needs(expression('zone', 'In', 'b'), expression('zone', 'In', 'a')), true],
    ['an empty term', needs({}), false],
    ['an operator nobody knows', needs(expression('zone', 'Like', 'a')), false],
  ])('%s', (_name, spec, fits) => {
    const unschedulable = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
    expect(placePod(pod('p', {}, spec), [labelled], new Map())).toEqual(fits ? { node: 'here' } : { unschedulable })
  })
})

describe('taints', () => {
  const taint = (effect: string) => node('here', {}, { taints: [{ key: 'for', value: 'models', effect }] })
  const tolerating = (toleration: Record<string, string>) => pod('p', {}, { tolerations: [toleration] })
  const unschedulable = '0/1 nodes are available: 1 node(s) had untolerated taint {for: models}.'

  it.each([
    ['NoSchedule', pod('p', {}), 'NoSchedule', false],
    ['NoExecute', pod('p', {}), 'NoExecute', false],
    ['PreferNoSchedule', pod('p', {}), 'PreferNoSchedule', true],
    ['tolerated by value', tolerating({ key: 'for', operator: 'Equal', value: 'models' }), 'NoSchedule', true],
    ['another value', tolerating({ key: 'for', operator: 'Equal', value: 'others' }), 'NoSchedule', false],
    ['tolerated by key', tolerating({ key: 'for', operator: 'Exists' }), 'NoSchedule', true],
    ['another effect', tolerating({ key: 'for', operator: 'Exists', effect: 'NoExecute' }), 'NoSchedule', false],
    ['all tolerated', tolerating({ operator: 'Exists' }), 'NoExecute', true],
  ])('%s', (_name, wanted, effect, fits) => {
    expect(placePod(wanted, [taint(effect)], new Map())).toEqual(fits ? { node: 'here' } : { unschedulable })
  })
})

describe('toleratedMs', () => {
  const tainted = node(
    'here',
    {},
    {
      taints: [
        { key: 'a', effect: 'NoExecute' },
        { key: 'b', effect: 'NoExecute' },
        { key: 'c', effect: 'NoSchedule' },
      ],
    },
  )
  const exists = (key: string, tolerationSeconds?: number) => ({ key, operator: 'Exists', tolerationSeconds })

  it.each([
    ['one of them is not tolerated', [exists('a')], 0],
    ['all are, for ever', [exists('a'), exists('b')], undefined],
    ['the shortest counts', [exists('a', 30), exists('b', 20), exists('a')], 20_000],
    ['less than nothing is nothing', [exists('a', -5), exists('b')], 0],
  ])('%s', (_name, tolerations, expected) => {
    expect(toleratedMs(pod('p', {}, { tolerations }), tainted)).toBe(expected)
  })
})

describe('placePod', () => {
  it.each([
    ['fits exactly', pod('p', limits({ [l40s]: '2', cpu: '4', memory: '8Gi' })), { node: 'here' }],
    ['asks for nothing', pod('p', {}), { node: 'here' }],
    [
      'asks for too many cards',
      pod('p', limits({ [l40s]: '3' })),
      { unschedulable: `0/1 nodes are available: 1 Insufficient ${l40s}.` },
    ],
    [
      'asks for a card that is not there',
      pod('p', limits({ 'nvidia.com/gpu-h800': '1' })),
      { unschedulable: '0/1 nodes are available: 1 Insufficient nvidia.com/gpu-h800.' },
    ],
    [
      'lacks two things',
      pod('p', limits({ cpu: '4500m', memory: '9Gi' })),
      { unschedulable: '0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.' },
    ],
    ['requests less than its limit', pod('p', { requests: { cpu: '1' }, limits: { cpu: '100' } }), { node: 'here' }],
    [
      'wants another kind of node',
      pod('p', {}, { nodeSelector: { zone: 'b' } }),
      { unschedulable: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector." },
    ],
    [
      'has rules we cannot keep',
      pod('p', {}, { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [] } } }),
      {
        unschedulable:
          'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution is not supported by this scheduler; use spec.nodeSelector.',
      },
    ],
    [
      'only has preferences',
      pod('p', {}, { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } } }),
      { node: 'here' },
    ],
  ])('a Pod that %s', (_name, candidate, expected) => {
    expect(placePod(candidate, [here], new Map())).toEqual(expected)
  })

  it('counts what is already there', () => {
    const ledger = new NodeLedger()
    ledger.put(pod('first', limits({ [l40s]: '1' }), { nodeName: 'here' }))
    expect(placePod(pod('p', limits({ [l40s]: '1' })), [here], ledger.totals)).toEqual({ node: 'here' })
    ledger.put(pod('second', limits({ [l40s]: '1' }), { nodeName: 'here' }))
    expect(placePod(pod('p', limits({ [l40s]: '1' })), [here], ledger.totals)).toHaveProperty('unschedulable')
  })

  it('says what keeps each node out', () => {
    const nodes = [node('a', {}, { unschedulable: true }), node('b', {}, { ready: false }), node('c', { pods: '0' })]
    expect(placePod(pod('p', {}), nodes, new Map())).toEqual({
      unschedulable:
        '0/3 nodes are available: 1 Too many pods, 1 node(s) were not ready, 1 node(s) were unschedulable.',
    })
    expect(placePod(pod('p', {}), [], new Map())).toEqual({ unschedulable: '0/0 nodes are available.' })
  })

  it('keeps the node with most free cards for those who need them', () => {
    const nodes = [node('large', { [l40s]: '8' }), node('small', { [l40s]: '2' })]
    expect(placePod(pod('p', limits({ [l40s]: '1' })), nodes, new Map())).toEqual({ node: 'small' })
    expect(placePod(pod('p', limits({ [l40s]: '4' })), nodes, new Map())).toEqual({ node: 'large' })
  })
})

describe('ports of the node', () => {
  const claiming = (name: string, ...ports: object[]) =>
    pod(name, {}, { containers: [{ name: 'main', ports: ports.map((port) => ({ containerPort: 80, ...port })) }] })
  const taken = {
    unschedulable: "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
  }
  const placed = { node: 'here' }
  const tcp = (hostIP?: string) => ({ hostPort: 8080, ...(hostIP !== undefined && { hostIP }) })

  it.each([
    [tcp(), tcp(), taken],
    [tcp('10.0.0.1'), tcp('10.0.0.1'), taken],
    [tcp('10.0.0.1'), tcp('10.0.0.2'), placed],
    [tcp('10.0.0.1'), tcp(), taken],
    [tcp('0.0.0.0'), tcp('10.0.0.1'), taken],
    [tcp(), { ...tcp(), protocol: 'UDP' }, placed],
    [tcp(), { hostPort: 808 }, placed],
    [{ hostPort: 808 }, tcp(), placed],
    [tcp(), {}, placed],
  ])('that one Pod has as %j, and another asks for as %j', (first, second, expected) => {
    const ledger = new NodeLedger()
    const holder = claiming('holder', first)
    ledger.put(holder, 'here')
    expect(placePod(claiming('next', second), [here], ledger.totals)).toEqual(expected)
    ledger.remove(holder)
    expect(placePod(claiming('next', second), [here], ledger.totals)).toEqual(placed)
  })
})

describe('NodeLedger', () => {
  const used = (ledger: NodeLedger) => ledger.totals.get('here')?.get(l40s) ?? 0
  const one = (spec: Record<string, unknown> = {}, extra: Record<string, unknown> = {}) =>
    pod('one', limits({ [l40s]: '1' }), spec, extra)

  it('counts a Pod once however often it is seen, and a terminating one until it is gone', () => {
    const ledger = new NodeLedger()
    ledger.put(one({ nodeName: 'here' }))
    ledger.put(one({ nodeName: 'here' }, { deletionTimestamp: '2030-01-01T00:00:00Z' }))
    expect(used(ledger)).toBe(1000)
    ledger.remove(one({ nodeName: 'here' }))
    expect(used(ledger)).toBe(0)
  })

  it('keeps a binding that the cache does not know of yet', () => {
    const ledger = new NodeLedger()
    ledger.put(one(), 'here')
    ledger.put(one())
    expect(used(ledger)).toBe(1000)
  })

  it('lets a finished Pod go, and does not take a namesake for the Pod it counted', () => {
    const ledger = new NodeLedger()
    ledger.put(one({ nodeName: 'here' }))
    ledger.remove(one({}, { uid: 'another' }))
    expect(used(ledger)).toBe(1000)
    ledger.put({ ...one({ nodeName: 'here' }), status: { phase: 'Succeeded' } })
    expect(used(ledger)).toBe(0)
  })
})

it('adds containers up and takes the largest init container', () => {
  const container = (name: string, cpu: string) => ({ name, resources: { requests: { cpu } } })
  const both = podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: {
      containers: [container('a', '100m'), container('b', '200m')],
      initContainers: [container('i', '250m'), container('j', '1')],
    },
  })
  expect(podRequests(both).get('cpu')).toBe(1000)
})
