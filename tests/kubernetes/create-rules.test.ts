import { describe, expect, it } from 'vitest'
import { configMap, deployment, model, pod } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  const causes = (body: Readonly<Record<string, unknown>>) =>
    ((body['details'] as { causes?: Array<{ field: string; reason: string }> } | undefined)?.causes ?? []).map(
      ({ field, reason }) => `${field} ${reason}`,
    )

  describe('dry run', () => {
    it('shows what would be, and leaves nothing', async () => {
      const created = await server.http(
        'POST',
        server.path('configmaps?dryRun=All'),
        configMap('a', { data: { k: 'v' } }),
      )
      expect(created.code).toBe(201)
      expect(created.body).toMatchObject({ metadata: { name: 'a', uid: expect.any(String) }, data: { k: 'v' } })
      expect(created.body.metadata.resourceVersion).toBeUndefined()
      expect((await server.http('GET', server.path('configmaps/a'))).code).toBe(404)
      const real = await server.ok('POST', server.path('configmaps'), configMap('a'))
      const patched = await server.http(
        'PATCH',
        server.path('configmaps/a?dryRun=All'),
        { data: { x: 'y' } },
        {
          headers: { 'content-type': 'application/merge-patch+json' },
        },
      )
      expect(patched.body).toMatchObject({
        data: { x: 'y' },
        metadata: { resourceVersion: real.metadata.resourceVersion },
      })
      expect(await server.ok('GET', server.path('configmaps/a'))).not.toHaveProperty('data')
    })

    it('refuses what would be refused', async () => {
      await server.ok('POST', server.path('configmaps'), configMap('a'))
      const taken = await server.http('POST', server.path('configmaps?dryRun=All'), configMap('a'))
      expect(taken.code).toBe(409)
      const wrong = await server.http('POST', server.path('configmaps?dryRun=All'), configMap('NOT A NAME'))
      expect(wrong.code).toBe(422)
      const half = await server.http('POST', server.path('configmaps?dryRun=Some'), configMap('b'))
      expect([half.code, half.body.reason]).toEqual([422, 'Invalid'])
    })
  })

  describe('field validation', () => {
    const typo = () => {
      const manifest: Record<string, unknown> = deployment('d', server.image)
      manifest['spek'] = {}
      return manifest
    }

    it('Strict refuses fields that are unknown or there twice', async () => {
      const path = server.path('deployments?fieldValidation=Strict', 'apps/v1')
      const unknown = await server.http('POST', path, typo())
      expect([unknown.code, unknown.body.reason]).toEqual([400, 'BadRequest'])
      expect(unknown.body.message).toContain('strict decoding error: unknown field "spek"')
      const nested = deployment('d', server.image, { replikas: 3 })
      expect((await server.http('POST', path, nested)).body.message).toContain('unknown field "spec.replikas"')
      const twice = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1","k":"2"}}'
      const duplicate = await server.http('POST', server.path('configmaps?fieldValidation=Strict'), twice)
      expect(duplicate.code).toBe(400)
      expect(duplicate.body.message).toContain('duplicate field "data.k"')
      const custom = await server.http(
        'POST',
        server.path('models?fieldValidation=Strict', 'sluice.dev/v1'),
        model('m', { colour: 'blue' }),
      )
      expect(custom.code).toBe(400)
      expect(custom.body.message).toContain('unknown field "spec.colour"')
    })

    it('Warn, which is the default, says so in a header and goes on', async () => {
      for (const query of ['', '?fieldValidation=Warn']) {
        const answer = await server.http('POST', server.path(`deployments${query}`, 'apps/v1'), {
          ...typo(),
          metadata: { generateName: 'd-' },
        })
        expect(answer.code).toBe(201)
        expect(answer.headers['warning']).toBe('299 - "unknown field \\"spek\\""')
        expect(answer.body).not.toHaveProperty('spek')
      }
      const custom = await server.http('POST', server.path('models', 'sluice.dev/v1'), model('m', { colour: 'blue' }))
      expect(custom.headers['warning']).toBe('299 - "unknown field \\"spec.colour\\""')
      expect(custom.body['spec']).not.toHaveProperty('colour')
    })

    it('Ignore says nothing', async () => {
      const answer = await server.http('POST', server.path('deployments?fieldValidation=Ignore', 'apps/v1'), typo())
      expect([answer.code, answer.headers['warning']]).toEqual([201, undefined])
    })

    it('of another kind is refused', async () => {
      const answer = await server.http('POST', server.path('configmaps?fieldValidation=Maybe'), configMap('a'))
      expect([answer.code, answer.body.reason]).toEqual([422, 'Invalid'])
      expect(answer.body.message).toContain('fieldValidation')
    })

    it('judges patches too', async () => {
      await server.ok('POST', server.path('deployments', 'apps/v1'), deployment('d', server.image))
      const path = server.path('deployments/d?fieldValidation=Strict', 'apps/v1')
      const answer = await server.http(
        'PATCH',
        path,
        { spec: { replikas: 1 } },
        {
          headers: { 'content-type': 'application/strategic-merge-patch+json' },
        },
      )
      expect(answer.code).toBe(422)
      expect(answer.body.message).toContain('unknown field "spec.replikas"')
    })
  })

  describe('wrong types', () => {
    it('are told by field', async () => {
      const answer = await server.http(
        'POST',
        server.path('deployments', 'apps/v1'),
        deployment('d', server.image, { replicas: 'two' }),
      )
      expect([answer.code, answer.body.reason]).toEqual([400, 'BadRequest'])
      expect(answer.body.message).toContain('replicas')
      const custom = await server.http(
        'POST',
        server.path('models', 'sluice.dev/v1'),
        model('m', { maxReplicas: 'two' }),
      )
      expect([custom.code, custom.body.reason]).toEqual([422, 'Invalid'])
      expect(causes(custom.body)).toContain('spec.maxReplicas FieldValueTypeInvalid')
    })
  })

  describe('names and labels', () => {
    it.each(['UPPER', 'under_score', '-dash', 'a/b', 'x'.repeat(254), 'ä', 'a..b', 'dot.'])(
      'refuses the name %s',
      async (name) => {
        const answer = await server.http('POST', server.path('configmaps'), configMap(name))
        expect([answer.code, answer.body.reason]).toEqual([422, 'Invalid'])
        expect(causes(answer.body)).toContain('metadata.name FieldValueInvalid')
        expect(answer.body['details']).toMatchObject({ name, kind: 'ConfigMap' })
      },
    )

    it('asks for a name', async () => {
      const answer = await server.http('POST', server.path('configmaps'), { metadata: {} })
      expect([answer.code, answer.body.reason]).toEqual([422, 'Invalid'])
      expect(answer.body.message).toContain('name or generateName is required')
    })

    it('refuses labels and annotations that are none', async () => {
      const post = (metadata: object) =>
        server.http('POST', server.path('configmaps'), { ...configMap('a'), metadata: { name: 'a', ...metadata } })
      for (const labels of [{ 'a b': 'c' }, { a: 'b c' }, { a: 'x'.repeat(64) }, { '/x': 'y' }]) {
        const answer = await post({ labels })
        expect([answer.code, causes(answer.body)]).toEqual([422, ['metadata.labels FieldValueInvalid']])
      }
      const annotations = await post({ annotations: { big: 'x'.repeat(262_145) } })
      expect([annotations.code, causes(annotations.body)]).toEqual([422, ['metadata.annotations FieldValueTooLong']])
    })

    it('asks Services and Namespaces for names that are DNS labels', async () => {
      const ports = [{ port: 80 }]
      const service = await server.http('POST', server.path('services'), {
        metadata: { name: '1st.x' },
        spec: { ports },
      })
      expect(causes(service.body)).toContain('metadata.name FieldValueInvalid')
      const namespace = await server.http('POST', '/api/v1/namespaces', { metadata: { name: 'with.dot' } })
      expect(causes(namespace.body)).toContain('metadata.name FieldValueInvalid')
    })
  })

  describe('the rules of core kinds', () => {
    const refusals: ReadonlyArray<
      readonly [what: string, path: string, group: string, object: (image: string) => unknown, cause: string]
    > = [
      [
        'a Pod without containers',
        'pods',
        'v1',
        () => ({ metadata: { name: 'p' }, spec: { containers: [] } }),
        'spec.containers FieldValueRequired',
      ],
      [
        'a container without a name',
        'pods',
        'v1',
        (image) => ({ metadata: { name: 'p' }, spec: { containers: [{ image }] } }),
        'spec.containers[0].name FieldValueRequired',
      ],
      [
        'two containers of one name',
        'pods',
        'v1',
        (image) => ({
          metadata: { name: 'p' },
          spec: {
            containers: [
              { name: 'a', image },
              { name: 'a', image },
            ],
          },
        }),
        'spec.containers[1].name FieldValueDuplicate',
      ],
      [
        'a port that is none',
        'pods',
        'v1',
        (image) => ({
          metadata: { name: 'p' },
          spec: { containers: [{ name: 'a', image, ports: [{ containerPort: 70000 }] }] },
        }),
        'spec.containers[0].ports[0].containerPort FieldValueInvalid',
      ],
      [
        'a volume that is not there',
        'pods',
        'v1',
        (image) => ({
          metadata: { name: 'p' },
          spec: { containers: [{ name: 'a', image, volumeMounts: [{ name: 'v', mountPath: '/v' }] }] },
        }),
        'spec.containers[0].volumeMounts[0].name FieldValueNotFound',
      ],
      [
        'a restart policy that is none',
        'pods',
        'v1',
        (image) => pod('p', image, { restartPolicy: 'Maybe' }),
        'spec.restartPolicy FieldValueNotSupported',
      ],
      [
        'a Deployment whose selector misses its template',
        'deployments',
        'apps/v1',
        (image) => deployment('d', image, { selector: { matchLabels: { app: 'other' } } }),
        'spec.template.metadata.labels FieldValueInvalid',
      ],
      [
        'a Deployment of less than none',
        'deployments',
        'apps/v1',
        (image) => deployment('d', image, { replicas: -1 }),
        'spec.replicas FieldValueInvalid',
      ],
      [
        'a Service without ports',
        'services',
        'v1',
        () => ({ metadata: { name: 's' }, spec: {} }),
        'spec.ports FieldValueRequired',
      ],
      [
        'a Service with a port that is none',
        'services',
        'v1',
        () => ({ metadata: { name: 's' }, spec: { ports: [{ port: 0 }] } }),
        'spec.ports[0].port FieldValueInvalid',
      ],
      [
        'a claim that asks for nothing',
        'persistentvolumeclaims',
        'v1',
        () => ({ metadata: { name: 'c' }, spec: { accessModes: ['ReadWriteOnce'] } }),
        'spec.resources[storage] FieldValueRequired',
      ],
      [
        'a ConfigMap with a key that is none',
        'configmaps',
        'v1',
        () => configMap('a', { data: { 'a/b': 'c' } }),
        'data[a/b] FieldValueInvalid',
      ],
    ]

    it.each(refusals)('refuse %s', async (_what, path, group, object, cause) => {
      const answer = await server.http('POST', server.path(path, group), object(server.image))
      expect([answer.code, answer.body.reason], `it said ${answer.text}`).toEqual([422, 'Invalid'])
      expect(causes(answer.body)).toContain(cause)
    })

    it('refuse to change what is fixed', async () => {
      const fixed = async (path: string, group: string, object: object, change: object, field: string) => {
        const created = await server.ok('POST', server.path(path, group), object)
        const answer = await server.patch(server.path(`${path}/${created.metadata.name}`, group), 'merge', change)
        expect([answer.code, answer.body.reason], `${path}: ${answer.text}`).toEqual([422, 'Invalid'])
        expect(causes(answer.body).map((cause) => cause.split(' ')[0])).toContain(field)
      }
      await fixed(
        'configmaps',
        'v1',
        configMap('c', { immutable: true, data: { a: 'b' } }),
        { data: { a: 'c' } },
        'data',
      )
      await fixed('secrets', 'v1', { metadata: { name: 's' }, type: 'Opaque' }, { type: 'example.com/other' }, 'type')
      await fixed(
        'deployments',
        'apps/v1',
        deployment('d', server.image),
        { spec: { selector: { matchLabels: { app: 'x' } }, template: { metadata: { labels: { app: 'x' } } } } },
        'spec.selector',
      )
      await fixed(
        'services',
        'v1',
        { metadata: { name: 's' }, spec: { clusterIP: '10.96.77.70', ports: [{ port: 80 }] } },
        { spec: { clusterIP: '10.96.77.77' } },
        'spec.clusterIPs[0]',
      )
    })
  })
})
