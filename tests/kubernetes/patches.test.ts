import { describe, expect, it } from 'vitest'
import { configMap, deployment, model, pod } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  const dataOf = (answer: { readonly body: Readonly<Record<string, unknown>> }) => answer.body['data']

  describe('JSON patch', () => {
    it('adds, replaces, removes, copies, moves and tests', async () => {
      await server.ok('POST', server.path('configmaps'), configMap('a', { data: { x: '1', y: '2' } }))
      const patched = await server.patch(server.path('configmaps/a'), 'json', [
        { op: 'test', path: '/data/x', value: '1' },
        { op: 'add', path: '/data/z', value: '3' },
        { op: 'replace', path: '/data/y', value: '4' },
        { op: 'copy', from: '/data/y', path: '/data/w' },
        { op: 'move', from: '/data/z', path: '/data/v' },
        { op: 'remove', path: '/data/x' },
        { op: 'add', path: '/metadata/labels', value: { 'a.b/c': 'd' } },
        { op: 'replace', path: '/metadata/labels/a.b~1c', value: 'e' },
      ])
      expect(patched.code).toBe(200)
      expect(dataOf(patched)).toEqual({ v: '3', w: '4', y: '4' })
      expect(patched.body.metadata['labels']).toEqual({ 'a.b/c': 'e' })
    })

    it('refuses a test that fails, and a path that is not there', async () => {
      await server.ok('POST', server.path('configmaps'), configMap('a', { data: { x: '1' } }))
      for (const operation of [
        { op: 'test', path: '/data/x', value: '2' },
        { op: 'remove', path: '/data/missing' },
        { op: 'replace', path: '/missing/deep', value: 1 },
      ]) {
        const refused = await server.patch(server.path('configmaps/a'), 'json', [operation])
        expect([refused.code, refused.body.reason]).toEqual([422, 'Invalid'])
      }
    })

    it('refuses copies of copies that grow without end', async () => {
      const large = configMap('a', { data: { x: 'x'.repeat(100_000) } })
      await server.ok('POST', server.path('configmaps'), large)
      const copies = Array.from({ length: 40 }, (_none, at) => ({ op: 'copy', from: '/data', path: `/data/c${at}` }))
      const refused = await server.patch(server.path('configmaps/a'), 'json', copies)
      expect([refused.code, refused.body.reason]).toEqual([422, 'Invalid'])
      expect(refused.body.message).toContain('the server rejected our request due to an error in our request')
    })

    it('refuses what is no list of operations', async () => {
      await server.ok('POST', server.path('configmaps'), configMap('a'))
      const object = await server.patch(server.path('configmaps/a'), 'json', { op: 'add' })
      expect([object.code, object.body.reason]).toEqual([400, 'BadRequest'])
      const malformed = await server.patch(server.path('configmaps/a'), 'json', '[{')
      expect([malformed.code, malformed.body.reason]).toEqual([400, 'BadRequest'])
    })
  })

  describe('merge patch', () => {
    it('merges maps, removes with null and replaces lists', async () => {
      const path = server.path('models', 'sluice.dev/v1')
      await server.ok('POST', path, model('m', { args: ['a', 'b'], maxReplicas: 4 }))
      const patched = await server.patch(`${path}/m`, 'merge', { spec: { args: ['c'], maxReplicas: null } })
      expect(patched.code).toBe(200)
      const spec = patched.body['spec'] as Record<string, unknown>
      expect(spec['args']).toEqual(['c'])
      // A removed field gets its default again.
      expect(spec['maxReplicas']).not.toBe(4)
    })

    it('of nothing changes nothing, not even the version', async () => {
      const created = await server.ok('POST', server.path('configmaps'), configMap('a', { data: { x: '1' } }))
      const patched = await server.patch(server.path('configmaps/a'), 'merge', {})
      expect(patched.body.metadata.resourceVersion).toBe(created.metadata.resourceVersion)
    })

    it('with a version is refused when it is not the newest', async () => {
      const created = await server.ok('POST', server.path('configmaps'), configMap('a'))
      await server.patch(server.path('configmaps/a'), 'merge', { data: { x: '1' } })
      const { resourceVersion } = created.metadata
      const stale = await server.patch(server.path('configmaps/a'), 'merge', { metadata: { resourceVersion } })
      expect([stale.code, stale.body.reason]).toEqual([409, 'Conflict'])
    })

    it('cannot rename', async () => {
      await server.ok('POST', server.path('configmaps'), configMap('a'))
      const renamed = await server.patch(server.path('configmaps/a'), 'merge', { metadata: { name: 'b' } })
      expect(renamed.code).toBe(400)
      expect(renamed.body.message).toContain('the name of the object (b) does not match the name on the URL (a)')
    })
  })

  describe('strategic merge patch', () => {
    const containers = (answer: { readonly body: Readonly<Record<string, unknown>> }) =>
      (answer.body['spec'] as { template: { spec: { containers: Array<Record<string, unknown>> } } }).template.spec
        .containers

    it('merges containers by name, their variables by name and their ports by number', async () => {
      const path = server.path('deployments', 'apps/v1')
      const manifest = deployment('d', server.image)
      Object.assign(manifest.spec.template.spec.containers[0] ?? {}, {
        env: [
          { name: 'A', value: '1' },
          { name: 'B', value: '2' },
        ],
        ports: [{ containerPort: 80, protocol: 'TCP' }],
      })
      await server.ok('POST', path, manifest)
      const main = {
        name: 'main',
        env: [
          { name: 'B', value: '3' },
          { name: 'C', value: '4' },
        ],
        ports: [{ containerPort: 80, name: 'web' }],
      }
      const second = { name: 'second', image: server.image }
      const patched = await server.patch(`${path}/d`, 'strategic-merge', {
        spec: { template: { spec: { containers: [main, second] } } },
      })
      expect(patched.code, `it said ${patched.text}`).toBe(200)
      expect(containers(patched)).toMatchObject([
        {
          name: 'main',
          image: server.image,
          env: [
            { name: 'A', value: '1' },
            { name: 'B', value: '3' },
            { name: 'C', value: '4' },
          ],
          ports: [{ containerPort: 80, name: 'web', protocol: 'TCP' }],
        },
        { name: 'second' },
      ])
    })

    it('deletes an element, replaces a list and a map, and orders elements', async () => {
      const path = server.path('deployments', 'apps/v1')
      const manifest = deployment('d', server.image)
      manifest.spec.template.spec.containers.push({ name: 'second', image: server.image })
      await server.ok('POST', path, manifest)
      const ordered = await server.patch(`${path}/d`, 'strategic-merge', {
        spec: {
          template: {
            spec: {
              '$setElementOrder/containers': [{ name: 'second' }, { name: 'main' }],
              containers: [{ name: 'main', command: ['x'] }],
            },
          },
        },
      })
      expect(containers(ordered).map(({ name }) => name)).toEqual(['second', 'main'])
      const deleted = await server.patch(`${path}/d`, 'strategic-merge', {
        spec: { template: { spec: { containers: [{ name: 'second', $patch: 'delete' }] } } },
      })
      expect(containers(deleted).map(({ name }) => name)).toEqual(['main'])
      const replaced = await server.patch(`${path}/d`, 'strategic-merge', {
        spec: { template: { spec: { containers: [{ name: 'new', image: server.image }, { $patch: 'replace' }] } } },
      })
      expect(containers(replaced).map(({ name }) => name)).toEqual(['new'])
      const strategy = await server.patch(`${path}/d`, 'strategic-merge', {
        spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
      })
      expect(strategy.body['spec']).toMatchObject({ strategy: { type: 'Recreate' } })
      expect((strategy.body['spec'] as { strategy: object }).strategy).not.toHaveProperty('rollingUpdate')
    })

    it('adds to and removes from lists of plain values', async () => {
      await server.ok('POST', server.path('configmaps'), {
        ...configMap('a'),
        metadata: { name: 'a', finalizers: ['example.com/one', 'example.com/two'] },
      })
      const patched = await server.patch(server.path('configmaps/a'), 'strategic-merge', {
        metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/one'], finalizers: ['example.com/three'] },
      })
      expect(patched.body.metadata['finalizers']).toEqual(['example.com/three', 'example.com/two'])
    })

    it('is refused for custom resources', async () => {
      const path = server.path('models', 'sluice.dev/v1')
      await server.ok('POST', path, model('m'))
      const refused = await server.patch(`${path}/m`, 'strategic-merge', { spec: {} })
      expect([refused.code, refused.body.reason]).toEqual([415, 'UnsupportedMediaType'])
      expect(refused.body.message).toContain('application/merge-patch+json')
    })

    it('refuses a key element without its key, and a directive that is none', async () => {
      const path = server.path('deployments', 'apps/v1')
      await server.ok('POST', path, deployment('d', server.image))
      const keyless = { spec: { template: { spec: { containers: [{ image: 'x' }] } } } }
      const first = await server.patch(`${path}/d`, 'strategic-merge', keyless)
      expect(first.code).toBeGreaterThanOrEqual(400)
      const strange = { spec: { template: { spec: { containers: [{ name: 'main', $patch: 'explode' }] } } } }
      const second = await server.patch(`${path}/d`, 'strategic-merge', strange)
      expect(second.code).toBeGreaterThanOrEqual(400)
      await server.ok('GET', `${path}/d`)
    })
  })

  describe('every patch', () => {
    it('of status changes only the status, and of the object never the status', async () => {
      await server.ok('POST', server.path('pods'), pod('p', server.image))
      const status = await server.patch(server.path('pods/p/status'), 'merge', {
        metadata: { labels: { sneaked: 'in' } },
        spec: { nodeName: 'sneaked' },
        status: { phase: 'Running' },
      })
      expect(status.code).toBe(200)
      expect(status.body).toMatchObject({ status: { phase: 'Running' } })
      expect(status.body['spec']).not.toHaveProperty('nodeName')
      const whole = await server.patch(server.path('pods/p'), 'merge', { status: { phase: 'Failed' } })
      expect(whole.body).toMatchObject({ status: { phase: 'Running' } })
    })

    it('judges the outcome like a replacement', async () => {
      await server.ok('POST', server.path('pods'), pod('p', server.image))
      const refused = await server.patch(server.path('pods/p'), 'strategic-merge', { spec: { restartPolicy: 'Never' } })
      expect([refused.code, refused.body.reason]).toEqual([422, 'Invalid'])
      expect(refused.body.message).toContain('spec: Forbidden: pod updates may not change fields other than')
    })

    it('of what is not there is 404', async () => {
      for (const format of ['merge', 'strategic-merge'] as const) {
        const answer = await server.patch(server.path('configmaps/missing'), format, {})
        expect([answer.code, answer.body.message]).toEqual([404, 'configmaps "missing" not found'])
      }
    })

    it('must be in a known format', async () => {
      await server.ok('POST', server.path('configmaps'), configMap('a'))
      const answer = await server.http(
        'PATCH',
        server.path('configmaps/a'),
        {},
        { headers: { 'content-type': 'application/json' } },
      )
      expect([answer.code, answer.body.reason]).toEqual([415, 'UnsupportedMediaType'])
    })
  })
})
