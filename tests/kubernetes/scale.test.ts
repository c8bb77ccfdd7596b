import { describe, expect, it } from 'vitest'
import { deployment, model } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  const kinds = [
    ['deployments', 'apps/v1', (image: string) => deployment('x', image)],
    ['models', 'sluice.dev/v1', () => model('x', { replicas: 2 })],
  ] as const

  describe.each(kinds)('the scale of %s', (plural, group, make) => {
    const path = (rest = '') => server.path(`${plural}${rest}`, group)

    it('is a view of the replicas', async () => {
      const created = await server.ok('POST', path(), make(server.image))
      const scale = await server.ok('GET', path('/x/scale'))
      expect(scale).toMatchObject({
        kind: 'Scale',
        apiVersion: 'autoscaling/v1',
        metadata: {
          name: 'x',
          namespace: server.namespace,
          uid: created.metadata.uid,
          resourceVersion: created.metadata.resourceVersion,
        },
        spec: { replicas: 2 },
        status: { replicas: 0 },
      })
    })

    it('sets the replicas by update and by patch, and counts as a change of the spec', async () => {
      await server.ok('POST', path(), make(server.image))
      const scale = await server.ok('GET', path('/x/scale'))
      const updated = await server.ok('PUT', path('/x/scale'), { ...scale, spec: { replicas: 3 } })
      expect(updated).toMatchObject({ kind: 'Scale', spec: { replicas: 3 } })
      const patched = await server.patch(path('/x/scale'), 'merge', { spec: { replicas: 4 } })
      expect(patched.body).toMatchObject({ kind: 'Scale', spec: { replicas: 4 } })
      expect(await server.ok('GET', path('/x'))).toMatchObject({ metadata: { generation: 3 }, spec: { replicas: 4 } })
    })

    it('refuses a version that is not the newest, and less than none', async () => {
      await server.ok('POST', path(), make(server.image))
      const scale = await server.ok('GET', path('/x/scale'))
      await server.patch(path('/x/scale'), 'merge', { spec: { replicas: 1 } })
      const stale = await server.http('PUT', path('/x/scale'), { ...scale, spec: { replicas: 9 } })
      expect([stale.code, stale.body.reason]).toEqual([409, 'Conflict'])
      const negative = await server.patch(path('/x/scale'), 'merge', { spec: { replicas: -1 } })
      expect([negative.code, negative.body.reason]).toEqual([422, 'Invalid'])
    })

    it('is 404 of what is not there', async () => {
      const answer = await server.http('GET', path('/missing/scale'))
      expect([answer.code, answer.body.reason]).toEqual([404, 'NotFound'])
    })

    it('follows the status', async () => {
      await server.ok('POST', path(), make(server.image))
      await server.patch(path('/x/status'), 'merge', { status: { replicas: 7 } })
      expect(await server.ok('GET', path('/x/scale'))).toMatchObject({ status: { replicas: 7 } })
    })
  })

  it('is not there for kinds that cannot be scaled', async () => {
    await server.ok('POST', server.path('configmaps'), { metadata: { name: 'a' } })
    const answer = await server.http('GET', server.path('configmaps/a/scale'))
    expect([answer.code, answer.body.reason]).toEqual([404, 'NotFound'])
  })
})
