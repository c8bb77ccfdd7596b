import { describe, expect, it } from 'vitest'
import { labelled, model } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  const create = (name: string, labels: Record<string, string> = {}) =>
    server.ok('POST', server.path('configmaps'), labelled(name, labels))
  const version = async () => (await server.ok('GET', server.path('configmaps'))).metadata.resourceVersion

  describe('watch', () => {
    it('is a stream of JSON lines with whole objects', async () => {
      const watch = await server.watch(server.path(`configmaps?watch=true&resourceVersion=${await version()}`))
      expect(watch.code).toBe(200)
      expect(watch.headers['content-type']).toBe('application/json')
      expect(watch.headers['transfer-encoding']).toBe('chunked')
      const created = await create('a')
      expect(await watch.next()).toEqual({ type: 'ADDED', object: created })
      watch.stop()
    })

    it('resumes after any version without gap or duplicate', async () => {
      const start = await version()
      const a = await create('a')
      await create('b')
      await server.patch(server.path('configmaps/a'), 'merge', { data: { k: 'v' } })
      await server.ok('DELETE', server.path('configmaps/b'))
      const whole = await server.watch(server.path(`configmaps?watch=1&resourceVersion=${start}`))
      expect(await whole.take(4)).toEqual(['ADDED a', 'ADDED b', 'MODIFIED a', 'DELETED b'])
      const rest = await server.watch(server.path(`configmaps?watch=1&resourceVersion=${a.metadata.resourceVersion}`))
      expect(await rest.take(3)).toEqual(['ADDED b', 'MODIFIED a', 'DELETED b'])
      await create('c')
      expect(await rest.take(1)).toEqual(['ADDED c'])
    })

    it('begins with what is there when no version is given', async () => {
      await create('a')
      await create('b')
      for (const query of ['watch=1', 'watch=1&resourceVersion=0']) {
        const watch = await server.watch(server.path(`configmaps?${query}`))
        expect((await watch.take(2)).toSorted()).toEqual(['ADDED a', 'ADDED b'])
        watch.stop()
      }
    })

    it('says 410 Expired for a version that is too old', async () => {
      for (let count = 0; count <= (server.address.historyLimit ?? 0) * 2; count += 1) {
        await server.ok('POST', server.path('configmaps'), { metadata: { generateName: 'old-' } })
      }
      const answer = await server.watch(server.path('models?watch=1&resourceVersion=1', 'sluice.dev/v1'))
      expect(answer.code).toBe(200)
      const event = await answer.next()
      expect(event).toMatchObject({
        type: 'ERROR',
        object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410 },
      })
      expect(event?.object.message).toMatch(/^too old resource version: 1 \(\d+\)$/)
      expect(await answer.next()).toBeUndefined()
    })

    it('tells of an object that begins and ceases to match', async () => {
      const watch = await server.watch(
        server.path(`configmaps?watch=1&labelSelector=tier%3Dx&resourceVersion=${await version()}`),
      )
      await create('a', { tier: 'y' })
      await server.patch(server.path('configmaps/a'), 'merge', { metadata: { labels: { tier: 'x' } } })
      await server.patch(server.path('configmaps/a'), 'merge', { data: { k: 'v' } })
      const left = await server.patch(server.path('configmaps/a'), 'merge', { metadata: { labels: { tier: null } } })
      expect(await watch.take(2)).toEqual(['ADDED a', 'MODIFIED a'])
      const last = await watch.next()
      // As it was when it last matched, with the version of the change that removed it.
      expect(last).toMatchObject({ type: 'DELETED', object: { metadata: { labels: { tier: 'x' } }, data: { k: 'v' } } })
      expect(last?.object.metadata.resourceVersion).toBe(left.body.metadata.resourceVersion)
    })

    it('of one name', async () => {
      const from = await version()
      const watch = await server.watch(
        server.path(`configmaps?watch=1&fieldSelector=metadata.name%3Db&resourceVersion=${from}`),
      )
      await create('a')
      await create('b')
      expect(await watch.take(1)).toEqual(['ADDED b'])
    })

    it('shows the last state of what is deleted, under the version of the deletion', async () => {
      const created = await create('a')
      const watch = await server.watch(
        server.path(`configmaps?watch=1&resourceVersion=${created.metadata.resourceVersion}`),
      )
      await server.ok('DELETE', server.path('configmaps/a'))
      const event = await watch.next()
      expect(event).toMatchObject({ type: 'DELETED', object: { metadata: { name: 'a', uid: created.metadata.uid } } })
      expect(Number(event?.object.metadata.resourceVersion)).toBeGreaterThan(Number(created.metadata.resourceVersion))
    })

    it('ends by itself after timeoutSeconds', async () => {
      const watch = await server.watch(
        server.path(`configmaps?watch=1&timeoutSeconds=1&resourceVersion=${await version()}`),
      )
      expect(await watch.next()).toBeUndefined()
    })

    it('says before its end how far it came, when bookmarks are asked for', async () => {
      const from = await version()
      const watch = await server.watch(
        server.path(`configmaps?watch=1&allowWatchBookmarks=true&timeoutSeconds=4&resourceVersion=${from}`),
      )
      // Nothing that this watch shows: only the bookmark can tell it that the world has moved on.
      await server.ok('POST', '/api/v1/namespaces/default/configmaps', { metadata: { generateName: 'elsewhere-' } })
      const bookmark = await watch.next()
      expect(bookmark).toMatchObject({ type: 'BOOKMARK', object: { kind: 'ConfigMap', apiVersion: 'v1' } })
      expect(Number(bookmark?.object.metadata.resourceVersion)).toBeGreaterThan(Number(from))
    })

    it('streams the initial state and says where it ends (sendInitialEvents)', async () => {
      await create('a')
      await create('b')
      const query = 'watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan'
      const watch = await server.watch(server.path(`configmaps?${query}`))
      const first = [await watch.next(), await watch.next()].map((event) => event?.object.metadata.name)
      expect(new Set(first)).toEqual(new Set(['a', 'b']))
      const end = await watch.next()
      expect(end).toMatchObject({
        type: 'BOOKMARK',
        object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
      })
      expect(end?.object.metadata.resourceVersion).toMatch(/^\d+$/)
      await create('c')
      expect(await watch.take(1)).toEqual(['ADDED c'])
    })

    it('refuses sendInitialEvents without a match, and a match without it', async () => {
      for (const query of ['sendInitialEvents=true', 'resourceVersionMatch=NotOlderThan']) {
        const answer = await server.http('GET', server.path(`configmaps?watch=1&${query}`))
        expect([answer.code, answer.body.reason]).toEqual([422, 'Invalid'])
      }
    })

    it('shows tables to who asks for tables, the columns once', async () => {
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
      const watch = await server.watch(server.path(`configmaps?watch=1&resourceVersion=${await version()}`), {
        headers: { accept },
      })
      await create('a')
      await create('b')
      const first = await watch.next()
      expect(first).toMatchObject({ type: 'ADDED', object: { kind: 'Table', apiVersion: 'meta.k8s.io/v1' } })
      expect(first?.object['columnDefinitions']).toHaveLength(3)
      const second = await watch.next()
      expect(second?.object['columnDefinitions']).toBeFalsy()
      expect(second?.object['rows']).toMatchObject([{ cells: ['b', 0, expect.any(String)] }])
    })

    it('marks the end of the beginning also without sendInitialEvents, when bookmarks are asked for', async () => {
      await create('a')
      const watch = await server.watch(server.path('configmaps?watch=1&allowWatchBookmarks=true'))
      expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'a' } } })
      expect(await watch.next()).toMatchObject({
        type: 'BOOKMARK',
        object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
      })
    })

    it('is for lists: one object by its path is just read', async () => {
      await create('a')
      const answer = await server.http('GET', server.path('configmaps/a?watch=1'))
      expect(answer.body).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'a' } })
    })

    it('goes over all namespaces', async () => {
      const list = await server.ok('GET', '/apis/sluice.dev/v1/models')
      const watch = await server.watch(
        `/apis/sluice.dev/v1/models?watch=1&resourceVersion=${list.metadata.resourceVersion}`,
      )
      await server.ok('POST', server.path('models', 'sluice.dev/v1'), model('m'))
      const event = await watch.next()
      expect(event).toMatchObject({ type: 'ADDED', object: { metadata: { namespace: server.namespace } } })
    })
  })
})
