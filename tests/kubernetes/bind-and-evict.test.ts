import { describe, expect, it } from 'vitest'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  describe('Pods', () => {
    const pod = (name: string) =>
      server.ok('POST', server.path('pods'), {
        metadata: { name },
        spec: { schedulerName: 'nobody', containers: [{ name: 'main', image: server.image }] },
      })

    it('are bound to a node once', async () => {
      await pod('a')
      const bind = (name: string, target: object) =>
        server.http('POST', server.path('pods/a/binding'), { metadata: { name }, target })
      expect((await bind('b', { kind: 'Node', name: 'n' })).body).toMatchObject({
        code: 400,
        message: 'name in URL does not match name in Binding object',
      })
      expect((await bind('a', { kind: 'Pod', name: 'n' })).code).toBe(server.differs('malformed binding') ? 400 : 500)
      expect((await bind('a', { kind: 'Node', name: 'n' })).body).toMatchObject({ code: 201, status: 'Success' })
      expect(await server.ok('GET', server.path('pods/a'))).toMatchObject({
        spec: { nodeName: 'n' },
        status: { conditions: [{ type: 'PodScheduled', status: 'True' }] },
      })
      expect((await bind('a', { kind: 'Node', name: 'm' })).body).toMatchObject({
        code: 409,
        message: 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n"',
      })
    })

    it('are evicted', async () => {
      await pod('a')
      const evict = (name: string, deleteOptions?: object) => {
        const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, deleteOptions }
        return server.http('POST', server.path('pods/a/eviction'), eviction)
      }
      expect((await evict('b')).code).toBe(400)
      expect((await evict('a', { preconditions: { uid: 'other' } })).code).toBe(409)
      expect((await evict('a', { dryRun: ['All'] })).code).toBe(201)
      expect((await server.http('GET', server.path('pods/a'))).code).toBe(200)
      await server.patch(server.path('pods/a'), 'merge', { metadata: { finalizers: ['example.com/seen'] } })
      expect((await evict('a')).body).toMatchObject({ code: 201, status: 'Success' })
      const { status } = await server.ok('GET', server.path('pods/a'))
      const reason = { reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' }
      expect(status).toMatchObject({ conditions: [{ type: 'DisruptionTarget', status: 'True', ...reason }] })
      await server.patch(server.path('pods/a'), 'merge', { metadata: { finalizers: null } })
      expect((await evict('a')).body).toMatchObject({ code: 404, message: 'pods "a" not found' })
      expect((await server.http('GET', server.path('pods/a/eviction'))).code).toBe(405)
    })
  })
})
