import { describe, expect, it } from 'vitest'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { podKind } from '../../resources/pod.ts'
import { aggregatedDiscovery, compareVersions, groupList, resourceList, subresourcesOf } from './discovery.ts'

const kinds = [...coreKinds, ...customKinds]
const everything = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']

describe('discovery', () => {
  it('lists resources by name, each with its subresources', () => {
    const { resources } = resourceList(kinds, 'apps', 'v1') as { resources: Array<{ name: string; verbs: string[] }> }
    expect(resources.map(({ name }) => name)).toEqual([
      'controllerrevisions',
      'deployments',
      'deployments/scale',
      'deployments/status',
      'replicasets',
      'replicasets/scale',
      'replicasets/status',
      'statefulsets',
      'statefulsets/scale',
      'statefulsets/status',
    ])
    expect(resources[1]).toMatchObject({ shortNames: ['deploy'], categories: ['all'], verbs: everything })
    expect(resources[2]).toMatchObject({ kind: 'Scale', group: 'autoscaling', verbs: ['get', 'patch', 'update'] })
  })

  it('says of questions that they can only be created', () => {
    const { resources } = resourceList(kinds, 'authorization.k8s.io', 'v1') as { resources: Array<{ verbs: string[] }> }
    expect(resources.map(({ verbs }) => verbs)).toEqual([['create'], ['create'], ['create'], ['create']])
  })

  it('shows the same in one piece', () => {
    const { items } = aggregatedDiscovery(kinds, 'apis') as {
      items: Array<{ metadata: { name: string }; versions: Array<{ resources: Array<{ resource: string }> }> }>
    }
    const names = items.map(({ metadata }) => metadata.name)
    const { groups } = groupList(kinds) as { groups: Array<{ name: string }> }
    expect(names).toEqual(groups.map(({ name }) => name))
    expect(names).toContain('rbac.authorization.k8s.io')
  })

  it('prefers the newest stable version', () => {
    const versions = ['v1alpha1', 'foo', 'v2beta1', 'v1', 'v10', 'v2', 'v1beta2', 'bar', 'v1beta1']
    expect(versions.sort(compareVersions)).toEqual([
      'v10',
      'v2',
      'v1',
      'v2beta1',
      'v1beta2',
      'v1beta1',
      'v1alpha1',
      'bar',
      'foo',
    ])
    const beta = { ...podKind, group: 'x.y', version: 'v1beta1' }
    const described = groupList([beta, { ...beta, version: 'v1' }]) as { groups: Array<{ preferredVersion: object }> }
    expect(described.groups[0]?.preferredVersion).toEqual({ groupVersion: 'x.y/v1', version: 'v1' })
  })

  it('knows what belongs to a Pod', () => {
    expect(subresourcesOf(podKind).map(({ name }) => name)).toEqual([
      'attach',
      'binding',
      'ephemeralcontainers',
      'eviction',
      'exec',
      'log',
      'portforward',
      'proxy',
      'status',
    ])
  })
})
