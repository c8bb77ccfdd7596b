import { describe, expect, it } from 'vitest'
import { configMap, labelled, model, pod } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  const options = (fields: Record<string, unknown>) => ({ apiVersion: 'v1', kind: 'DeleteOptions', ...fields })
  const create = (name: string, metadata: Record<string, unknown> = {}) =>
    server.ok('POST', server.path('configmaps'), { ...configMap(name), metadata: { name, ...metadata } })
  const exists = async (name: string) => (await server.http('GET', server.path(`configmaps/${name}`))).code === 200

  describe('delete', () => {
    it('answers with what went: a Status, or the object of kinds that end gracefully', async () => {
      const created = await create('a')
      const { uid } = created.metadata
      const gone = await server.http('DELETE', server.path('configmaps/a'))
      expect(gone.code).toBe(200)
      expect(gone.body).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Success',
        details: { name: 'a', kind: 'configmaps', uid },
      })
      await server.ok('POST', server.path('models', 'sluice.dev/v1'), model('m'))
      const custom = await server.http('DELETE', server.path('models/m', 'sluice.dev/v1'))
      expect(custom.body).toMatchObject({
        kind: 'Status',
        status: 'Success',
        details: { name: 'm', group: 'sluice.dev', kind: 'models' },
      })
      await server.ok('POST', server.path('pods'), pod('p', server.image))
      const ended = await server.http('DELETE', server.path('pods/p'))
      expect(ended.body).toMatchObject({ kind: 'Pod', metadata: { name: 'p' } })
    })

    it('holds to its preconditions', async () => {
      const { metadata } = await create('a')
      const wrong = { uid: '11111111-2222-3333-4444-555555555555' }
      const other = await server.http('DELETE', server.path('configmaps/a'), options({ preconditions: wrong }))
      expect([other.code, other.body.reason]).toEqual([409, 'Conflict'])
      expect(other.body.message).toContain(
        `the UID in the precondition (${wrong.uid}) does not match the UID in record (${metadata.uid})`,
      )
      const stale = await server.http(
        'DELETE',
        server.path('configmaps/a'),
        options({ preconditions: { resourceVersion: '1' } }),
      )
      expect([stale.code, stale.body.reason]).toEqual([409, 'Conflict'])
      const { uid, resourceVersion } = metadata
      await server.ok('DELETE', server.path('configmaps/a'), options({ preconditions: { uid, resourceVersion } }))
      expect(await exists('a')).toBe(false)
    })

    it('of a dry run leaves everything as it is', async () => {
      await create('a')
      await server.ok('DELETE', server.path('configmaps/a?dryRun=All'))
      await server.ok('DELETE', server.path('configmaps/a'), options({ dryRun: ['All'] }))
      expect(await exists('a')).toBe(true)
    })

    it('gives a Pod on a node its grace, which can be shortened but not lengthened', async () => {
      const spec = { nodeName: 'n', terminationGracePeriodSeconds: 20 }
      await server.ok('POST', server.path('pods'), pod('p', server.image, spec))
      const marked = await server.ok('DELETE', server.path('pods/p'))
      expect(marked.metadata).toMatchObject({ deletionGracePeriodSeconds: 20 })
      expect(marked.metadata.deletionTimestamp).toMatch(/Z$/)
      const longer = await server.ok('DELETE', server.path('pods/p'), options({ gracePeriodSeconds: 60 }))
      expect(longer.metadata).toMatchObject({ deletionGracePeriodSeconds: 20 })
      const shorter = await server.ok('DELETE', server.path('pods/p'), options({ gracePeriodSeconds: 5 }))
      expect(shorter.metadata).toMatchObject({ deletionGracePeriodSeconds: 5 })
      await server.ok('DELETE', server.path('pods/p?gracePeriodSeconds=0'))
      expect((await server.http('GET', server.path('pods/p'))).code).toBe(404)
    })

    it('refuses options it does not know', async () => {
      await create('a')
      const policy = await server.http(
        'DELETE',
        server.path('configmaps/a'),
        options({ propagationPolicy: 'Sometimes' }),
      )
      expect([policy.code, policy.body.reason]).toEqual([422, 'Invalid'])
      const both = options({ propagationPolicy: 'Orphan', orphanDependents: true })
      expect((await server.http('DELETE', server.path('configmaps/a'), both)).code).toBe(422)
      expect((await server.http('DELETE', server.path('configmaps/a?gracePeriodSeconds=soon'))).code).toBe(400)
      expect(await exists('a')).toBe(true)
    })
  })

  describe('finalizers', () => {
    it('hold what was deleted until the last of them is gone', async () => {
      await create('a', { finalizers: ['example.com/one', 'example.com/two'] })
      const marked = await server.http('DELETE', server.path('configmaps/a'))
      expect(marked.code).toBe(200)
      expect(marked.body.metadata.deletionTimestamp).toMatch(/Z$/)
      expect(marked.body.metadata).toMatchObject({ deletionGracePeriodSeconds: 0 })
      const finalizers = (value: unknown) =>
        server.patch(server.path('configmaps/a'), 'merge', { metadata: { finalizers: value } })
      expect((await finalizers(['example.com/two'])).code).toBe(200)
      expect(await exists('a')).toBe(true)
      const watch = await server.watch(
        server.path(`configmaps?watch=1&resourceVersion=${marked.body.metadata.resourceVersion}`),
      )
      expect((await finalizers(null)).code).toBe(200)
      expect(await exists('a')).toBe(false)
      expect(await watch.take(2)).toEqual(['MODIFIED a', 'DELETED a'])
    })

    it('cannot be added to what is being deleted', async () => {
      await create('a', { finalizers: ['example.com/one'] })
      await server.ok('DELETE', server.path('configmaps/a'))
      const refused = await server.patch(server.path('configmaps/a'), 'merge', {
        metadata: { finalizers: ['example.com/one', 'example.com/late'] },
      })
      expect([refused.code, refused.body.reason]).toEqual([422, 'Invalid'])
      expect(refused.body.message).toContain(
        'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted',
      )
    })

    it('must be named with a domain', async () => {
      const metadata = { name: 'a', finalizers: ['not a name'] }
      const refused = await server.http('POST', server.path('configmaps'), { ...configMap('a'), metadata })
      expect([refused.code, refused.body.reason]).toEqual([422, 'Invalid'])
      expect(refused.body.message).toContain('metadata.finalizers')
    })

    it('stay when a deletion is repeated, and the time of the first one too', async () => {
      await create('a', { finalizers: ['example.com/one'] })
      const first = await server.ok('DELETE', server.path('configmaps/a'))
      const second = await server.ok('DELETE', server.path('configmaps/a'))
      expect(second.metadata.deletionTimestamp).toBe(first.metadata.deletionTimestamp)
      expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    })
  })

  describe('owners', () => {
    const owner = (uid: string, fields: Record<string, unknown> = {}) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: 'owner',
      uid,
      ...fields,
    })

    it('are kept as they were named', async () => {
      const { metadata } = await create('owner')
      const reference = owner(metadata.uid, { controller: true, blockOwnerDeletion: true })
      const owned = await create('owned', { ownerReferences: [reference] })
      expect(owned.metadata['ownerReferences']).toEqual([reference])
    })

    it('must have a name, a kind and a uid, and one controller at most', async () => {
      const { metadata } = await create('owner')
      const post = (ownerReferences: unknown[]) =>
        server.http('POST', server.path('configmaps'), { ...configMap('x'), metadata: { name: 'x', ownerReferences } })
      const nameless = await post([owner('')])
      expect([nameless.code, nameless.body.reason]).toEqual([422, 'Invalid'])
      expect(nameless.body.message).toContain('metadata.ownerReferences.uid: Invalid value: "": must not be empty')
      const two = await post([
        owner(metadata.uid, { controller: true }),
        owner('11111111-2222-3333-4444-555555555555', { controller: true, name: 'other' }),
      ])
      expect([two.code, two.body.reason]).toEqual([422, 'Invalid'])
      expect(two.body.message).toContain('Only one reference can have Controller set to true')
    })

    it('deleted in the foreground wait for the garbage collector', async () => {
      await create('owner')
      const marked = await server.ok(
        'DELETE',
        server.path('configmaps/owner'),
        options({ propagationPolicy: 'Foreground' }),
      )
      expect(marked.metadata['finalizers']).toEqual(['foregroundDeletion'])
      expect(marked.metadata.deletionTimestamp).toMatch(/Z$/)
      // What the garbage collector does when nothing depends on it any more.
      await server.patch(server.path('configmaps/owner'), 'merge', { metadata: { finalizers: null } })
      expect(await exists('owner')).toBe(false)
    })

    it('deleted with Orphan wait until their dependents were told', async () => {
      await create('owner')
      const marked = await server.ok(
        'DELETE',
        server.path('configmaps/owner'),
        options({ propagationPolicy: 'Orphan' }),
      )
      expect(marked.metadata['finalizers']).toEqual(['orphan'])
    })
  })

  describe('deletecollection', () => {
    it('takes what is selected, and shows it', async () => {
      for (const [name, tier] of [
        ['a', 'x'],
        ['b', 'y'],
        ['c', 'x'],
      ] as const) {
        await server.ok('POST', server.path('configmaps'), labelled(name, { tier }))
      }
      const answer = await server.ok('DELETE', server.path('configmaps?labelSelector=tier%3Dx'))
      expect(answer).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1' })
      expect(answer.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'c'])
      const left = await server.ok('GET', server.path('configmaps'))
      expect(left.items.map(({ metadata }) => metadata.name)).toEqual(['b'])
    })

    it('of a dry run takes nothing', async () => {
      await create('a')
      await server.ok('DELETE', server.path('configmaps?dryRun=All'))
      expect(await exists('a')).toBe(true)
    })

    it('marks what has finalizers', async () => {
      await create('a', { finalizers: ['example.com/one'] })
      await create('b')
      await server.ok('DELETE', server.path('configmaps'))
      expect([await exists('a'), await exists('b')]).toEqual([true, false])
    })

    it('is not for namespaces', async () => {
      const answer = await server.http('DELETE', '/api/v1/namespaces')
      expect([answer.code, answer.body.reason]).toEqual([405, 'MethodNotAllowed'])
    })
  })

  describe('a namespace', () => {
    it('is Terminating until it is finalized, and takes nothing new', async () => {
      const name = `${server.namespace}-x`
      const created = await server.ok('POST', '/api/v1/namespaces', { metadata: { name } })
      expect(created).toMatchObject({
        metadata: { labels: { 'kubernetes.io/metadata.name': name } },
        spec: { finalizers: ['kubernetes'] },
        status: { phase: 'Active' },
      })
      const marked = await server.ok('DELETE', `/api/v1/namespaces/${name}`)
      expect(marked).toMatchObject({ status: { phase: 'Terminating' } })
      const late = await server.http('POST', `/api/v1/namespaces/${name}/configmaps`, configMap('late'))
      expect([late.code, late.body.reason]).toEqual([403, 'Forbidden'])
      expect(late.body.message).toBe(
        `configmaps "late" is forbidden: unable to create new content in namespace ${name} because it is being terminated`,
      )
      expect(late.body['details']).toMatchObject({ causes: [{ reason: 'NamespaceTerminating' }] })
      const current = await server.ok('GET', `/api/v1/namespaces/${name}`)
      await server.ok('PUT', `/api/v1/namespaces/${name}/finalize`, { ...current, spec: { finalizers: [] } })
      expect((await server.http('GET', `/api/v1/namespaces/${name}`)).code).toBe(404)
    })

    it('of the system stays', async () => {
      for (const name of ['default', 'kube-system']) {
        const answer = await server.http('DELETE', `/api/v1/namespaces/${name}`)
        expect([answer.code, answer.body.reason]).toEqual([403, 'Forbidden'])
        expect(answer.body.message).toContain('this namespace may not be deleted')
      }
    })
  })
})
