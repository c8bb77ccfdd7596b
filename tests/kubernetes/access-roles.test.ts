import { describe, expect, it } from 'vitest'
import { as, codeSoon, give, podReader, rbac, roleRef, user } from './access-objects.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  describe('roles', () => {
    it('allow what they say and nothing else, in the namespace of their binding', async () => {
      const pods = server.path('pods')
      const refused = await server.http('GET', pods, undefined, as('ada'))
      expect(refused.body).toMatchObject({
        kind: 'Status',
        code: 403,
        reason: 'Forbidden',
        message: `pods is forbidden: User "ada" cannot list resource "pods" in API group "" in the namespace "${server.namespace}"`,
        details: { kind: 'pods' },
      })
      await give(server, 'reader', podReader, user('ada'))
      expect(await codeSoon(server, () => server.http('GET', pods, undefined, as('ada')), 200)).toBe(200)
      expect((await server.http('POST', pods, {}, as('ada'))).code).toBe(403)
      expect((await server.http('GET', `${pods}/x/log`, undefined, as('ada'))).body.message).toBe(
        `pods "x" is forbidden: User "ada" cannot get resource "pods/log" in API group "" in the namespace "${server.namespace}"`,
      )
      expect((await server.http('GET', '/api/v1/namespaces/default/pods', undefined, as('ada'))).code).toBe(403)
      expect((await server.http('GET', '/api/v1/pods', undefined, as('ada'))).body.message).toBe(
        'pods is forbidden: User "ada" cannot list resource "pods" in API group "" at the cluster scope',
      )
    })

    it('are taken away with their binding', async () => {
      const pods = server.path('pods')
      await give(server, 'reader', podReader, user('ada'))
      expect(await codeSoon(server, () => server.http('GET', pods, undefined, as('ada')), 200)).toBe(200)
      await server.ok('DELETE', server.path('rolebindings/reader', rbac))
      expect(await codeSoon(server, () => server.http('GET', pods, undefined, as('ada')), 403)).toBe(403)
    })

    it('keep to names, and to groups', async () => {
      const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['mine'], verbs: ['get', 'update'] }]
      const group = { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'testers' }
      await give(server, 'mine', rules, group)
      for (const name of ['mine', 'yours']) await server.ok('POST', server.path('configmaps'), { metadata: { name } })
      const mine = () => server.http('GET', server.path('configmaps/mine'), undefined, as('bob', 'testers'))
      expect(await codeSoon(server, mine, 200)).toBe(200)
      expect((await server.http('GET', server.path('configmaps/yours'), undefined, as('bob', 'testers'))).code).toBe(
        403,
      )
      expect((await server.http('GET', server.path('configmaps'), undefined, as('bob', 'testers'))).code).toBe(403)
      expect((await server.http('GET', server.path('configmaps/mine'), undefined, as('bob'))).code).toBe(403)
    })

    it('hide what is not served from those who may not ask', async () => {
      const path = server.path('things/y', 'nowhere.io/v1')
      expect((await server.http('GET', path, undefined, as('ada'))).body).toMatchObject({
        code: 403,
        message: `things.nowhere.io "y" is forbidden: User "ada" cannot get resource "things" in API group "nowhere.io" in the namespace "${server.namespace}"`,
        details: { name: 'y', group: 'nowhere.io', kind: 'things' },
      })
      expect((await server.http('GET', path)).code).toBe(404)
    })

    it('that are not there are named', async () => {
      const binding = { metadata: { name: 'ghost' }, roleRef: roleRef('ClusterRole', 'ghost'), subjects: [user('zed')] }
      await server.ok('POST', server.path('rolebindings', rbac), binding)
      const sentence = `pods is forbidden: User "zed" cannot list resource "pods" in API group "" in the namespace "${server.namespace}"`
      const call = () => server.http('GET', server.path('pods'), undefined, as('zed'))
      const ghost = `${sentence}: RBAC: clusterrole.rbac.authorization.k8s.io "ghost" not found`
      await expect.poll(async () => (await call()).body.message).toBe(ghost)
    })

    it('are checked when they are written', async () => {
      const rules = [
        { apiGroups: [''], resources: ['pods'], verbs: [] },
        { verbs: ['get'] },
        { verbs: ['get'], nonResourceURLs: ['/x'] },
      ]
      const role = await server.http('POST', server.path('roles', rbac), { metadata: { name: 'bad' }, rules })
      expect(role.body).toMatchObject({
        code: 422,
        details: {
          causes: [
            { reason: 'FieldValueRequired', field: 'rules[0].verbs' },
            { reason: 'FieldValueRequired', field: 'rules[1].apiGroups' },
            { reason: 'FieldValueRequired', field: 'rules[1].resources' },
            { reason: 'FieldValueInvalid', field: 'rules[2].nonResourceURLs' },
          ],
        },
      })
      const binding = {
        metadata: { name: 'bad' },
        roleRef: roleRef('ClusterRole', 'view'),
        subjects: [{ kind: 'User' }],
      }
      expect((await server.http('POST', server.path('rolebindings', rbac), binding)).body).toMatchObject({
        code: 422,
        details: { causes: [{ reason: 'FieldValueRequired', field: 'subjects[0].name' }] },
      })
    })

    it('cannot be used to give away more than one has', async () => {
      const roleWriter = [
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'], verbs: ['create', 'update'] },
        ...podReader,
      ]
      await give(server, 'writer', roleWriter, user('eve'))
      const small = { metadata: { name: 'small' }, rules: podReader }
      const roles = server.path('roles', rbac)
      expect(await codeSoon(server, () => server.http('POST', `${roles}?dryRun=All`, small, as('eve')), 201)).toBe(201)
      await server.ok('POST', roles, small, as('eve'))
      const rules = [
        { apiGroups: [''], resources: ['nodes', 'pods'], verbs: ['get', 'list'] },
        { apiGroups: ['*'], resources: ['secrets'], verbs: ['get'] },
      ]
      const big = await server.http('POST', roles, { metadata: { name: 'big' }, rules }, as('eve'))
      expect(big.body).toMatchObject({
        code: 403,
        message:
          'roles.rbac.authorization.k8s.io "big" is forbidden: user "eve" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
          '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}\n' +
          '{APIGroups:["*"], Resources:["secrets"], Verbs:["get"]}',
        details: { name: 'big', group: 'rbac.authorization.k8s.io', kind: 'roles' },
      })
      const widened = { metadata: { name: 'small' }, rules }
      expect((await server.http('PUT', `${roles}/small`, widened, as('eve'))).code).toBe(403)
      const bindings = server.path('rolebindings', rbac)
      const own = { metadata: { name: 'small' }, roleRef: roleRef('Role', 'small'), subjects: [user('mallory')] }
      expect(await codeSoon(server, () => server.http('POST', bindings, own, as('eve')), 201)).toBe(201)
      const moved = { ...own, roleRef: roleRef('ClusterRole', 'cluster-admin') }
      expect((await server.http('PUT', `${bindings}/small`, moved, as('eve'))).code).toBeGreaterThanOrEqual(400)
      const crown = { ...own, metadata: { name: 'crown' }, roleRef: roleRef('ClusterRole', 'cluster-admin') }
      const refused = await server.http('POST', bindings, crown, as('eve'))
      expect(refused.body.message).toContain(
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}',
      )
    })
  })
})
