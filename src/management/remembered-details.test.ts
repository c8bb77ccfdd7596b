import { describe, expect, it } from 'vitest'
import { type Cluster, clusterSchema } from '../resources/cluster.ts'
import { type Node, nodeSchema } from '../resources/node.ts'
import { HeldObjects } from '../resources/object-cache.ts'
import { type Pod, podSchema } from '../resources/pod.ts'
import { RememberedDetails } from './remembered-details.ts'

const clusterNamed = (displayName: string): Cluster =>
  clusterSchema.parse({
    apiVersion: 'sluice.dev/v1',
    kind: 'Cluster',
    metadata: { name: 'vks-1' },
    spec: { displayName, enterprise: 'acme', center: 'local-1' },
  })
const node = (cpu: string): Node => {
  const status = { allocatable: { cpu, memory: '8Gi' }, conditions: [{ type: 'Ready', status: 'True' }] }
  return nodeSchema.parse({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status })
}
const pod = (name: string): Pod => {
  const containers = [{ name: 'c', resources: { requests: { cpu: '1' } } }]
  return podSchema.parse({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { nodeName: 'n', containers } })
}

describe('what is said of a cluster', () => {
  it('is worked out again when its resource, a node, a Pod or whether it answers has changed, and only then', () => {
    const details = new RememberedDetails()
    const nodes = new HeldObjects<Node>()
    const pods = new HeldObjects<Pod>()
    nodes.put(node('4'))
    pods.put(pod('a'))
    let cluster = clusterNamed('first')
    const now = (answers = true) => details.of(cluster, nodes.list(), pods.list(), answers)
    const first = now()
    expect(first).toMatchObject({ name: 'first', status: 'Running', utilizationRate: { cpu: { hard: 4, used: 1 } } })
    expect(now()).toBe(first)
    pods.put(pod('b'))
    expect(now().utilizationRate.cpu).toEqual({ hard: 4, used: 2 })
    pods.remove({ name: 'a' })
    expect(now().utilizationRate.cpu).toEqual({ hard: 4, used: 1 })
    nodes.put(node('8'))
    expect(now().utilizationRate.cpu).toEqual({ hard: 8, used: 1 })
    cluster = clusterNamed('second')
    expect(now().name).toBe('second')
    expect(now(false).status).toBe('Creating')
    expect(now()).toEqual(now())
  })
})
