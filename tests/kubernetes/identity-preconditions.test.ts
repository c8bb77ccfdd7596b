import { describe, expect, it } from 'vitest'
import { configMap, model, pod } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

const other = '00000000-0000-4000-8000-000000000000'
const immutable = `metadata.uid: Invalid value: "${other}": field is immutable`

onEachServer((server) => {
  const models = () => server.path('models', 'sluice.dev/v1')
  const created = {
    ConfigMap: async () => {
      await server.ok('POST', server.path('configmaps'), configMap('a'))
      return server.path('configmaps/a')
    },
    Pod: async () => {
      await server.ok('POST', server.path('pods'), pod('a', server.image))
      return server.path('pods/a')
    },
    'Model.sluice.dev': async () => {
      await server.ok('POST', models(), model('a'))
      return `${models()}/a`
    },
  }

  describe.each(Object.entries(created))('a %s that is meant for another one of its name', (kind, create) => {
    it('is no valid result of a patch', async () => {
      const path = await create()
      const merged = await server.patch(path, 'merge', { metadata: { uid: other, labels: { a: 'b' } } })
      const operation = { op: 'replace', path: '/metadata/uid', value: other }
      for (const { code, body } of [merged, await server.patch(path, 'json', [operation])]) {
        expect([code, body.reason, body.message]).toEqual([422, 'Invalid', `${kind} "a" is invalid: ${immutable}`])
      }
      expect((await server.ok('GET', path)).metadata['labels']).not.toMatchObject({ a: 'b' })
    })

    it('is told with what else is wrong', async () => {
      const patch = { metadata: { uid: other, labels: { 'a b': 'c' } } }
      const { code, body } = await server.patch(await create(), 'merge', patch)
      expect([code, body.message]).toEqual([422, expect.stringMatching(/is invalid: \[metadata\.labels: .*, metadata/)])
      expect(body.message).toContain(immutable)
    })

    it('is a conflict to a replacement, and to a patch that names a version', async () => {
      const path = await create()
      const current = await server.ok('GET', path)
      const replaced = await server.http('PUT', path, { ...current, metadata: { ...current.metadata, uid: other } })
      expect([replaced.code, replaced.body.reason]).toEqual([409, 'Conflict'])
      const patched = await server.patch(path, 'merge', { metadata: { uid: other, resourceVersion: '1' } })
      expect([patched.code, patched.body.reason]).toEqual([409, 'Conflict'])
      expect(patched.body.message).toContain('the object has been modified')
    })

    it('is nobody in particular without a uid', async () => {
      const path = await create()
      for (const uid of ['', null]) expect((await server.patch(path, 'merge', { metadata: { uid } })).code).toBe(200)
    })
  })

  it('is judged with the status of a core kind, and not looked at with that of a custom one', async () => {
    const metadata = { uid: other }
    const ofPod = await server.patch(`${await created.Pod()}/status`, 'merge', { metadata, status: { message: 'x' } })
    expect([ofPod.code, ofPod.body.message]).toEqual([422, `Pod "a" is invalid: ${immutable}`])
    const path = await created['Model.sluice.dev']()
    const ofModel = await server.patch(`${path}/status`, 'merge', { metadata, status: { message: 'x' } })
    expect([ofModel.code, ofModel.body['status']]).toEqual([200, expect.objectContaining({ message: 'x' })])
    expect((await server.patch(`${path}/scale`, 'merge', { metadata, spec: { replicas: 0 } })).code).toBe(200)
  })
})
