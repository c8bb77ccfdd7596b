import { describe, expect, it } from 'vitest'
import { configMap, model } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

const names = (list: { readonly items: ReadonlyArray<{ readonly metadata: { readonly name: string } }> }) =>
  list.items.map(({ metadata }) => metadata.name)

onEachServer((server) => {
  const createAll = async (...all: string[]) => {
    for (const name of all) await server.ok('POST', server.path('configmaps'), configMap(name))
  }

  describe('create', () => {
    it('answers 201 with what the server filled in', async () => {
      const answer = await server.http('POST', server.path('configmaps'), configMap('a', { data: { k: 'v' } }))
      expect(answer.code).toBe(201)
      expect(answer.headers['content-type']).toBe('application/json')
      expect(answer.body).toMatchObject({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'a', namespace: server.namespace },
        data: { k: 'v' },
      })
      expect(answer.body.metadata.uid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
      expect(answer.body.metadata['creationTimestamp']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      // A ConfigMap has no spec, so there is nothing that a generation could count.
      expect(answer.body.metadata.generation).toBeUndefined()
    })

    it('counts generations of what has a spec, and not changes of status or metadata', async () => {
      const path = server.path('models', 'sluice.dev/v1')
      const created = await server.ok('POST', path, model('m'))
      expect(created.metadata.generation).toBe(1)
      const labelled = await server.patch(`${path}/m`, 'merge', { metadata: { labels: { a: 'b' } } })
      expect(labelled.body.metadata.generation).toBe(1)
      const changed = await server.patch(`${path}/m`, 'merge', { spec: { maxReplicas: 5 } })
      expect(changed.body.metadata.generation).toBe(2)
      const status = await server.patch(`${path}/m/status`, 'merge', { status: { replicas: 1 } })
      expect(status.body.metadata.generation).toBe(2)
    })

    it('ignores what only the server may say', async () => {
      const metadata = {
        name: 'a',
        uid: 'mine',
        generation: 7,
        creationTimestamp: '2001-01-01T00:00:00Z',
        selfLink: '/x',
      }
      const created = await server.ok('POST', server.path('configmaps'), { ...configMap('a'), metadata })
      expect(created.metadata.uid).not.toBe('mine')
      expect(created.metadata['creationTimestamp']).not.toBe('2001-01-01T00:00:00Z')
      const older = { ...configMap('b'), metadata: { name: 'b', resourceVersion: '5' } }
      const refused = await server.http('POST', server.path('configmaps'), older)
      expect(refused.code).toBe(server.differs('version of a new object') ? 400 : 500)
      expect(refused.body.message).toContain('resourceVersion should not be set on objects to be created')
    })

    it('makes up a name that begins as it was told', async () => {
      const body = { metadata: { generateName: 'job-' } }
      const first = await server.ok('POST', server.path('configmaps'), body)
      const second = await server.ok('POST', server.path('configmaps'), body)
      expect(first.metadata.name).toMatch(/^job-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
      expect(first.metadata['generateName']).toBe('job-')
      expect(second.metadata.name).not.toBe(first.metadata.name)
      const long = await server.ok('POST', server.path('configmaps'), { metadata: { generateName: 'x'.repeat(70) } })
      expect(long.metadata.name).toMatch(/^x{58}[a-z0-9]{5}$/)
    })

    it('takes the namespace from the path, and refuses another one in the object', async () => {
      const elsewhere = { ...configMap('a'), metadata: { name: 'a', namespace: 'default' } }
      const answer = await server.http('POST', server.path('configmaps'), elsewhere)
      expect(answer.code).toBe(400)
      expect(answer.body).toMatchObject({
        reason: 'BadRequest',
        message: 'the namespace of the provided object does not match the namespace sent on the request',
      })
    })

    it('refuses a body of another kind', async () => {
      const answer = await server.http('POST', server.path('configmaps'), {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'a' },
      })
      expect(answer.code).toBe(400)
      expect(answer.body.message).toContain('ConfigMap')
    })
  })

  describe('update', () => {
    it('replaces the newest and refuses the rest', async () => {
      const created = await server.ok('POST', server.path('configmaps'), configMap('a', { data: { k: '1' } }))
      const updated = await server.ok('PUT', server.path('configmaps/a'), { ...created, data: { k: '2' } })
      expect(updated['data']).toEqual({ k: '2' })
      expect(Number(updated.metadata.resourceVersion)).toBeGreaterThan(Number(created.metadata.resourceVersion))
      const stale = await server.http('PUT', server.path('configmaps/a'), { ...created, data: { k: '3' } })
      expect(stale.code).toBe(409)
      expect(stale.body).toMatchObject({
        kind: 'Status',
        status: 'Failure',
        reason: 'Conflict',
        code: 409,
        details: { name: 'a', kind: 'configmaps' },
        message:
          'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
      })
    })

    it('keeps the version of what did not change', async () => {
      const created = await server.ok('POST', server.path('configmaps'), configMap('a', { data: { k: '1' } }))
      const same = await server.ok('PUT', server.path('configmaps/a'), created)
      expect(same.metadata.resourceVersion).toBe(created.metadata.resourceVersion)
    })

    it('is unconditional without a version where the kind allows it, and not where it does not', async () => {
      await server.ok('POST', server.path('configmaps'), configMap('a'))
      await server.ok('PUT', server.path('configmaps/a'), configMap('a', { data: { k: '2' } }))
      await server.ok('POST', server.path('models', 'sluice.dev/v1'), model('m'))
      const refused = await server.http('PUT', server.path('models/m', 'sluice.dev/v1'), model('m'))
      expect(refused.code).toBe(422)
      expect(refused.body['details']).toMatchObject({
        causes: [{ field: 'metadata.resourceVersion', message: 'Invalid value: 0: must be specified for an update' }],
      })
    })

    it('refuses another name and another uid', async () => {
      const created = await server.ok('POST', server.path('configmaps'), configMap('a'))
      const renamed = await server.http('PUT', server.path('configmaps/a'), configMap('b'))
      expect(renamed.code).toBe(400)
      expect(renamed.body.message).toBe('the name of the object (b) does not match the name on the URL (a)')
      const other = { ...created, metadata: { ...created.metadata, uid: '11111111-2222-3333-4444-555555555555' } }
      const replaced = await server.http('PUT', server.path('configmaps/a'), other)
      expect(replaced.code).toBe(409)
      expect(replaced.body.message).toContain('Precondition failed: UID in precondition')
    })

    it('does not create', async () => {
      const answer = await server.http('PUT', server.path('configmaps/missing'), configMap('missing'))
      expect([answer.code, answer.body.reason]).toEqual([404, 'NotFound'])
    })
  })

  describe('list', () => {
    it('is ordered by name and has a version of its own', async () => {
      await createAll('b', 'a', 'c')
      const list = await server.ok('GET', server.path('configmaps'))
      expect(list).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1' })
      expect(names(list)).toEqual(['a', 'b', 'c'])
      expect(list.metadata.resourceVersion).toMatch(/^\d+$/)
      expect(list.metadata.continue).toBeUndefined()
    })

    it('names the kind of each item of a custom list, and that of a core list once', async () => {
      await createAll('a')
      const core = await server.ok('GET', server.path('configmaps'))
      const kind = server.differs('kind of list items') ? 'ConfigMap' : undefined
      expect(core.items[0]?.kind).toBe(kind)
      await server.ok('POST', server.path('models', 'sluice.dev/v1'), model('m'))
      const custom = await server.ok('GET', server.path('models', 'sluice.dev/v1'))
      expect(custom.items[0]).toMatchObject({ apiVersion: 'sluice.dev/v1', kind: 'Model' })
    })

    it('comes in chunks of one consistent state', async () => {
      await createAll('a', 'b', 'c', 'd', 'e')
      const first = await server.ok('GET', server.path('configmaps?limit=2'))
      expect(names(first)).toEqual(['a', 'b'])
      expect(first.metadata.remainingItemCount).toBe(3)
      // What happens between two pages is not in them.
      await createAll('bb')
      await server.ok('DELETE', server.path('configmaps/d'))
      await server.patch(server.path('configmaps/e'), 'merge', { data: { late: 'yes' } })
      const second = await server.ok('GET', server.path(`configmaps?limit=2&continue=${first.metadata.continue}`))
      expect(names(second)).toEqual(['c', 'd'])
      expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
      const third = await server.ok('GET', server.path(`configmaps?limit=2&continue=${second.metadata.continue}`))
      expect(names(third)).toEqual(['e'])
      expect(third.items[0]?.['data']).toBeUndefined()
      expect(third.metadata.continue).toBeUndefined()
      expect(third.metadata.remainingItemCount).toBeUndefined()
      // And the watch goes on from the version of the first page.
      const watch = await server.watch(
        server.path(`configmaps?watch=1&resourceVersion=${third.metadata.resourceVersion}`),
      )
      expect(await watch.take(3)).toEqual(['ADDED bb', 'DELETED d', 'MODIFIED e'])
    })

    it('does not say how many remain when there is a selector', async () => {
      await createAll('a', 'b', 'c')
      const page = await server.ok('GET', server.path('configmaps?limit=1&labelSelector=%21x'))
      expect(page.metadata.continue).toBeTypeOf('string')
      expect(page.metadata.remainingItemCount).toBeUndefined()
    })

    it('takes pages of any size, and one token more than once', async () => {
      await createAll('a', 'b', 'c', 'd')
      const first = await server.ok('GET', server.path('configmaps?limit=1'))
      const next = (limit: number) =>
        server.ok('GET', server.path(`configmaps?limit=${limit}&continue=${first.metadata.continue}`))
      expect(names(await next(1))).toEqual(['b'])
      expect(names(await next(500))).toEqual(['b', 'c', 'd'])
    })

    it('refuses a token that is none', async () => {
      const answer = await server.http('GET', server.path('configmaps?limit=1&continue=garbage'))
      expect([answer.code, answer.body.reason]).toEqual([400, 'BadRequest'])
      expect(answer.body.message).toContain('continue')
    })

    it('refuses a limit that is no number, and reads a version that is none as an error', async () => {
      const limit = await server.http('GET', server.path('configmaps?limit=many'))
      expect([limit.code, limit.body.reason]).toEqual([400, 'BadRequest'])
      const version = await server.http('GET', server.path('configmaps?resourceVersion=yesterday'))
      expect(version.code).toBeGreaterThanOrEqual(400)
      expect(version.code).toBeLessThan(500)
    })

    it('takes resourceVersion=0, an older version, and the version it was told', async () => {
      await createAll('a')
      const list = await server.ok('GET', server.path('configmaps'))
      await createAll('b')
      expect(names(await server.ok('GET', server.path('configmaps?resourceVersion=0')))).toContain('a')
      const notOlder = `configmaps?resourceVersion=${list.metadata.resourceVersion}&resourceVersionMatch=NotOlderThan`
      expect(names(await server.ok('GET', server.path(notOlder)))).toContain('a')
    })

    it('refuses to match a version that is not given', async () => {
      const answer = await server.http('GET', server.path('configmaps?resourceVersionMatch=NotOlderThan'))
      expect([answer.code, answer.body.reason]).toEqual([422, 'Invalid'])
      expect(answer.body.message).toContain('resourceVersionMatch')
    })

    it('goes over all namespaces', async () => {
      await createAll('a-of-this-test')
      const list = await server.ok('GET', '/api/v1/configmaps?fieldSelector=metadata.name=a-of-this-test')
      expect(list.items.map(({ metadata }) => metadata['namespace'])).toContain(server.namespace)
    })

    it('is empty in a namespace that is not there', async () => {
      const list = await server.ok('GET', '/api/v1/namespaces/nowhere/configmaps')
      expect(list.items).toEqual([])
    })
  })

  describe('as metadata only', () => {
    it('shows one object and a list', async () => {
      await createAll('a')
      const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'
      const one = await server.ok('GET', server.path('configmaps/a'), undefined, { headers: { accept } })
      expect(one).toMatchObject({
        kind: 'PartialObjectMetadata',
        apiVersion: 'meta.k8s.io/v1',
        metadata: { name: 'a' },
      })
      expect(one).not.toHaveProperty('data')
      const list = await server.ok('GET', server.path('configmaps'), undefined, {
        headers: { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' },
      })
      expect(list).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' })
      expect(names(list)).toEqual(['a'])
    })
  })
})
