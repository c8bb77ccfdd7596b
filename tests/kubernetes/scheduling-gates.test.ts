import { describe, expect, it } from 'vitest'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  describe('Pods with scheduling gates', () => {
    const specWith = (more: object) => ({
      schedulerName: 'nobody',
      containers: [{ name: 'main', image: server.image }],
      ...more,
    })
    const create = (name: string, more: object) =>
      server.http('POST', server.path('pods'), { metadata: { name }, spec: specWith(more) })
    const gates = (...names: readonly string[]) => ({ schedulingGates: names.map((name) => ({ name })) })

    it('say from the beginning that they are held back', async () => {
      expect((await create('a', gates('example.com/room'))).body).toMatchObject({
        status: {
          phase: 'Pending',
          conditions: [
            {
              type: 'PodScheduled',
              status: 'False',
              reason: 'SchedulingGated',
              message: 'Scheduling is blocked due to non-empty scheduling gates',
            },
          ],
        },
      })
    })

    it('lose their gates, but get none', async () => {
      await create('a', gates('example.com/one', 'example.com/two'))
      const path = server.path('pods/a')
      expect((await server.patch(path, 'merge', { spec: gates('example.com/three') })).body).toMatchObject({
        code: 422,
        message: expect.stringContaining(
          "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'example.com/three'",
        ),
      })
      expect((await server.patch(path, 'merge', { spec: gates('example.com/two') })).body).toMatchObject({
        spec: gates('example.com/two'),
      })
      const free = await server.patch(path, 'merge', { spec: { schedulingGates: null } })
      expect(free.body['spec']).not.toHaveProperty('schedulingGates')
      expect((await server.patch(path, 'merge', { spec: gates('example.com/two') })).code).toBe(422)
    })

    it('have no node yet, and no name twice', async () => {
      expect((await create('placed', { ...gates('example.com/room'), nodeName: 'n' })).body).toMatchObject({
        code: 422,
        message: expect.stringContaining(
          'spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
        ),
      })
      expect((await create('twice', gates('example.com/room', 'example.com/room'))).body).toMatchObject({
        code: 422,
        message: expect.stringContaining('spec.schedulingGates[1]: Duplicate value'),
      })
      expect((await create('odd', gates('no gate'))).code).toBe(422)
    })

    it('are not bound', async () => {
      await create('a', gates('example.com/room'))
      const target = { kind: 'Node', name: 'n' }
      const bound = await server.http('POST', server.path('pods/a/binding'), { metadata: { name: 'a' }, target })
      expect(bound.body).toMatchObject({
        code: 409,
        message: expect.stringContaining('pod a has non-empty .spec.schedulingGates'),
      })
    })
  })
})
