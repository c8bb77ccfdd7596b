import { describe, expect, it } from 'vitest'
import { configMap, model, pod } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

interface Resource {
  readonly name: string
  readonly singularName: string
  readonly namespaced: boolean
  readonly kind: string
  readonly verbs: readonly string[]
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly group?: string
  readonly version?: string
}

/** What both serve; a real server has more. */
const served = {
  v1: [
    'configmaps',
    'endpoints',
    'events',
    'namespaces',
    'nodes',
    'persistentvolumeclaims',
    'persistentvolumes',
    'pods',
    'resourcequotas',
    'secrets',
    'serviceaccounts',
    'services',
  ],
  'apps/v1': ['controllerrevisions', 'deployments', 'replicasets', 'statefulsets'],
  'batch/v1': ['jobs'],
  'coordination.k8s.io/v1': ['leases'],
  'discovery.k8s.io/v1': ['endpointslices'],
  'events.k8s.io/v1': ['events'],
  'networking.k8s.io/v1': ['networkpolicies'],
  'storage.k8s.io/v1': ['storageclasses'],
  'rbac.authorization.k8s.io/v1': ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'],
  'apiextensions.k8s.io/v1': ['customresourcedefinitions'],
  'authorization.k8s.io/v1': ['selfsubjectaccessreviews'],
  'authentication.k8s.io/v1': ['selfsubjectreviews', 'tokenreviews'],
  'sluice.dev/v1': ['apikeys', 'clusters', 'computecenters', 'models', 'serviceexporters', 'usagerecords'],
} as const

onEachServer((server) => {
  const resources = async (groupVersion: string) => {
    const list = await server.ok('GET', groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`)
    expect(list).toMatchObject({ kind: 'APIResourceList', groupVersion })
    return list['resources'] as readonly Resource[]
  }

  describe('discovery', () => {
    it('begins at /api and /apis', async () => {
      expect(await server.ok('GET', '/api')).toMatchObject({ kind: 'APIVersions', versions: ['v1'] })
      const groups = await server.ok('GET', '/apis')
      expect(groups).toMatchObject({ kind: 'APIGroupList', apiVersion: 'v1' })
      const named = (groups['groups'] as Array<{ name: string; preferredVersion: { groupVersion: string } }>).map(
        ({ preferredVersion }) => preferredVersion.groupVersion,
      )
      expect(named).toEqual(expect.arrayContaining(Object.keys(served).filter((name) => name !== 'v1')))
      expect(await server.ok('GET', '/apis/apps')).toMatchObject({
        kind: 'APIGroup',
        apiVersion: 'v1',
        name: 'apps',
        versions: [{ groupVersion: 'apps/v1', version: 'v1' }],
      })
    })

    it.each(Object.entries(served))('lists the resources of %s', async (groupVersion, names) => {
      const found = (await resources(groupVersion)).map(({ name }) => name)
      expect(found).toEqual(expect.arrayContaining([...names]))
    })

    it('says of each what kubectl asks', async () => {
      const core = await resources('v1')
      const of = (list: readonly Resource[], name: string) => list.find((resource) => resource.name === name)
      const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
      expect(of(core, 'pods')).toMatchObject({
        singularName: 'pod',
        namespaced: true,
        kind: 'Pod',
        shortNames: ['po'],
        categories: ['all'],
        verbs,
      })
      expect(of(core, 'namespaces')?.verbs).toEqual(verbs.filter((verb) => verb !== 'deletecollection'))
      expect(of(core, 'pods/status')).toMatchObject({
        kind: 'Pod',
        singularName: '',
        verbs: ['get', 'patch', 'update'],
      })
      expect(of(core, 'pods/log')).toMatchObject({ kind: 'Pod', verbs: ['get'] })
      expect(of(core, 'pods/eviction')).toMatchObject({
        group: 'policy',
        version: 'v1',
        kind: 'Eviction',
        verbs: ['create'],
      })
      expect(of(core, 'serviceaccounts/token')).toMatchObject({
        group: 'authentication.k8s.io',
        version: 'v1',
        kind: 'TokenRequest',
        verbs: ['create'],
      })
      const apps = await resources('apps/v1')
      expect(of(apps, 'deployments/scale')).toMatchObject({ group: 'autoscaling', version: 'v1', kind: 'Scale' })
      const ours = await resources('sluice.dev/v1')
      expect(of(ours, 'models')).toMatchObject({
        kind: 'Model',
        singularName: 'model',
        shortNames: ['mdl'],
        namespaced: true,
      })
      expect(of(ours, 'models/scale')).toMatchObject({ group: 'autoscaling', version: 'v1', kind: 'Scale' })
    })

    it('also comes aggregated', async () => {
      const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'
      for (const [path, group] of [
        ['/api', ''],
        ['/apis', 'sluice.dev'],
      ] as const) {
        const answer = await server.http('GET', path, undefined, { headers: { accept } })
        expect(answer.headers['content-type']).toBe(
          'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
        )
        expect(answer.body).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2' })
        const found = answer.body.items.find(({ metadata }) => (metadata.name ?? '') === group)
        expect(found?.['versions']).toMatchObject([
          {
            version: 'v1',
            resources: expect.arrayContaining([
              expect.objectContaining({
                resource: group === '' ? 'pods' : 'models',
                scope: 'Namespaced',
                responseKind: expect.objectContaining({ group, kind: group === '' ? 'Pod' : 'Model' }) as object,
                subresources: expect.arrayContaining([expect.objectContaining({ subresource: 'status' })]) as unknown[],
              }),
            ]) as unknown[],
          },
        ])
      }
    })

    it('tells the version', async () => {
      const version = await server.ok('GET', '/version')
      expect(version).toMatchObject({ major: '1', minor: '34' })
      expect(version['gitVersion']).toMatch(/^v1\.34\.\d+/)
    })
  })

  describe('openapi', () => {
    it('v3 has a document for each group, addressed by its hash', async () => {
      const index = await server.ok('GET', '/openapi/v3')
      const paths = index['paths'] as Record<string, { serverRelativeURL: string }>
      expect(Object.keys(paths)).toEqual(expect.arrayContaining(['api/v1', 'apis/apps/v1', 'apis/sluice.dev/v1']))
      const document = await server.ok('GET', '/openapi/v3/apis/sluice.dev/v1')
      expect(document['openapi']).toMatch(/^3\.0/)
      const { schemas } = document['components'] as {
        schemas: Record<string, { 'x-kubernetes-group-version-kind'?: unknown }>
      }
      const model = Object.values(schemas).find((schema) =>
        JSON.stringify(schema['x-kubernetes-group-version-kind'] ?? []).includes('"Model"'),
      )
      expect(model?.['x-kubernetes-group-version-kind']).toEqual([
        { group: 'sluice.dev', version: 'v1', kind: 'Model' },
      ])
      expect(paths['apis/sluice.dev/v1']?.serverRelativeURL).toMatch(/\/openapi\/v3\/apis\/sluice\.dev\/v1\?hash=\w+$/)
    })

    it('v2 has definitions with their kinds', async () => {
      const document = await server.ok('GET', '/openapi/v2')
      expect(document['swagger']).toBe('2.0')
      expect(Object.keys(document['definitions'] as object)).toEqual(
        expect.arrayContaining(['io.k8s.api.core.v1.Pod', 'io.k8s.api.apps.v1.Deployment', 'dev.sluice.v1.Model']),
      )
    })
  })

  describe('tables', () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
    const table = (path: string) => server.ok('GET', path, undefined, { headers: { accept } })
    const columns = (body: Readonly<Record<string, unknown>>) =>
      (body['columnDefinitions'] as Array<{ name: string; priority: number }>).map(
        ({ name, priority }) => `${name}${priority > 0 ? '*' : ''}`,
      )

    it.each([
      ['configmaps', 'v1', ['Name', 'Data', 'Age']],
      ['secrets', 'v1', ['Name', 'Type', 'Data', 'Age']],
      [
        'pods',
        'v1',
        ['Name', 'Ready', 'Status', 'Restarts', 'Age', 'IP*', 'Node*', 'Nominated Node*', 'Readiness Gates*'],
      ],
      ['services', 'v1', ['Name', 'Type', 'Cluster-IP', 'External-IP', 'Port(s)', 'Age', 'Selector*']],
      [
        'events',
        'v1',
        ['Last Seen', 'Type', 'Reason', 'Object', 'Subobject*', 'Source*', 'Message', 'First Seen*', 'Count*', 'Name*'],
      ],
      [
        'persistentvolumeclaims',
        'v1',
        [
          'Name',
          'Status',
          'Volume',
          'Capacity',
          'Access Modes',
          'StorageClass',
          'VolumeAttributesClass',
          'Age',
          'VolumeMode*',
        ],
      ],
      [
        'deployments',
        'apps/v1',
        ['Name', 'Ready', 'Up-to-date', 'Available', 'Age', 'Containers*', 'Images*', 'Selector*'],
      ],
      ['replicasets', 'apps/v1', ['Name', 'Desired', 'Current', 'Ready', 'Age', 'Containers*', 'Images*', 'Selector*']],
      ['controllerrevisions', 'apps/v1', ['Name', 'Controller', 'Revision', 'Age']],
      ['statefulsets', 'apps/v1', ['Name', 'Ready', 'Age', 'Containers*', 'Images*']],
      ['jobs', 'batch/v1', ['Name', 'Status', 'Completions', 'Duration', 'Age', 'Containers*', 'Images*', 'Selector*']],
      ['leases', 'coordination.k8s.io/v1', ['Name', 'Holder', 'Age']],
      ['serviceaccounts', 'v1', ['Name', 'Secrets', 'Age']],
      ['resourcequotas', 'v1', ['Name', 'Request', 'Limit', 'Age']],
      ['roles', 'rbac.authorization.k8s.io/v1', ['Name', 'Created At']],
      [
        'rolebindings',
        'rbac.authorization.k8s.io/v1',
        ['Name', 'Role', 'Age', 'Users*', 'Groups*', 'ServiceAccounts*'],
      ],
    ])('of %s have their columns', async (plural, group, names) => {
      expect(columns(await table(server.path(plural, group)))).toEqual(names)
    })

    it('of Nodes and Namespaces have theirs', async () => {
      expect(columns(await table('/api/v1/namespaces'))).toEqual(['Name', 'Status', 'Age'])
      expect(columns(await table('/api/v1/nodes'))).toEqual([
        'Name',
        'Status',
        'Roles',
        'Age',
        'Version',
        'Internal-IP*',
        'External-IP*',
        'OS-Image*',
        'Kernel-Version*',
        'Container-Runtime*',
      ])
    })

    it('have a row for each object, with its metadata', async () => {
      await server.ok('POST', server.path('configmaps'), configMap('a', { data: { x: '1', y: '2' } }))
      const list = await table(server.path('configmaps'))
      expect(list).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' })
      expect(list['rows']).toMatchObject([
        {
          cells: ['a', 2, expect.stringMatching(/^\d+s$/)],
          object: { kind: 'PartialObjectMetadata', metadata: { name: 'a' } },
        },
      ])
      const whole = await table(server.path('configmaps?includeObject=Object'))
      expect(whole['rows']).toMatchObject([{ object: { kind: 'ConfigMap', data: { x: '1' } } }])
      const none = await table(server.path('configmaps?includeObject=None'))
      expect((none['rows'] as Array<Record<string, unknown>>)[0]?.['object']).toBeFalsy()
      expect(await table(server.path('configmaps/a'))).toMatchObject({
        kind: 'Table',
        rows: [{ cells: ['a', 2, expect.any(String)] }],
      })
    })

    it('of Pods say how they are', async () => {
      await server.ok('POST', server.path('pods'), pod('p', server.image, { nodeName: 'n1' }))
      await server.patch(server.path('pods/p/status'), 'merge', {
        status: {
          phase: 'Running',
          podIP: '10.1.2.3',
          podIPs: [{ ip: '10.1.2.3' }],
          conditions: [{ type: 'Ready', status: 'True' }],
          containerStatuses: [
            {
              name: 'main',
              ready: true,
              restartCount: 3,
              image: server.image,
              imageID: '',
              started: true,
              state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
            },
          ],
        },
      })
      expect(await table(server.path('pods/p'))).toMatchObject({
        rows: [{ cells: ['p', '1/1', 'Running', '3', expect.any(String), '10.1.2.3', 'n1', '<none>', '<none>'] }],
      })
    })

    it('of custom kinds have the columns of their definition', async () => {
      await server.ok('POST', server.path('models', 'sluice.dev/v1'), model('m'))
      const list = await table(server.path('models', 'sluice.dev/v1'))
      expect(columns(list).filter((name) => !name.endsWith('*'))).toEqual([
        'Name',
        'Phase',
        'Loading',
        'Ready',
        'Replicas',
        'Engine',
        'Profile',
        'Age',
      ])
      expect(columns(list)).toContain('URL*')
    })
  })
})
