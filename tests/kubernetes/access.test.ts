import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ContractServer } from './contract-server.ts'
import { onEachServer } from './on-each-server.ts'

const rbac = 'rbac.authorization.k8s.io/v1'
const authorization = '/apis/authorization.k8s.io/v1'
const authentication = '/apis/authentication.k8s.io/v1'

const as = (user: string, ...groups: string[]) => ({
  headers: { 'impersonate-user': user, ...(groups[0] !== undefined && { 'impersonate-group': groups[0] }) },
})
const podReader = [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }]
const user = (name: string) => ({ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name })
const roleRef = (kind: 'Role' | 'ClusterRole', name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name })

/** Gives the role to the user, in the test's namespace. */
async function give(server: ContractServer, name: string, rules: unknown, subject: object): Promise<void> {
  await server.ok('POST', server.path('roles', rbac), { metadata: { name }, rules })
  const binding = { metadata: { name }, roleRef: roleRef('Role', name), subjects: [subject] }
  await server.ok('POST', server.path('rolebindings', rbac), binding)
}

/**
 * The code of an answer, once it is what is expected. The real server learns of roles a moment later and trusts a token
 * it has seen for ten seconds; the embedded one knows at once.
 */
async function codeSoon(
  server: ContractServer,
  call: () => Promise<{ code: number }>,
  expected: number,
): Promise<number> {
  const deadline = Date.now() + (server.isReal ? 20_000 : 0)
  for (;;) {
    const { code } = await call()
    if (code === expected || Date.now() > deadline) return code
    await delay(100)
  }
}

function kubeconfigOf(server: ContractServer, name: string, credential: object): string {
  const config = JSON.parse(readFileSync(server.address.kubeconfig, 'utf8')) as Record<string, unknown>
  const context = (config['contexts'] as Array<{ context: Record<string, unknown> }>)[0]?.context
  const path = join(server.folder, `${name}.kubeconfig`)
  const mine = {
    ...config,
    users: [{ name, user: credential }],
    contexts: [{ name, context: { ...context, user: name } }],
  }
  writeFileSync(path, JSON.stringify({ ...mine, 'current-context': name }), { mode: 0o600 })
  return path
}

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

  describe('who somebody is', () => {
    it('is nobody without a credential, who sees health and version only', async () => {
      const nobody = { token: '' }
      for (const path of ['/healthz', '/livez', '/readyz', '/version']) {
        expect(await server.http('GET', path, undefined, nobody)).toMatchObject({ code: 200 })
      }
      expect((await server.http('GET', '/api', undefined, nobody)).body).toMatchObject({
        code: 403,
        message: 'forbidden: User "system:anonymous" cannot get path "/api"',
      })
      expect((await server.http('GET', '/metrics', undefined, nobody)).code).toBe(403)
      expect((await server.http('GET', server.path('secrets'), undefined, nobody)).body.message).toContain(
        'User "system:anonymous" cannot list resource "secrets"',
      )
    })

    it('is refused with a credential that is not known', async () => {
      for (const token of ['nonsense', 'eyJhbGciOiJub25lIn0.e30.', 'eyJhbGciOiJSUzI1NiJ9.e30.AAAA']) {
        expect((await server.http('GET', '/api', undefined, { token })).body).toMatchObject({
          kind: 'Status',
          code: 401,
          reason: 'Unauthorized',
          message: 'Unauthorized',
        })
      }
    })

    it('is told by auth whoami', async () => {
      const mine = await server.kubectl('auth whoami')
      expect(mine).toMatch(/Username +admin\n(UID .*\n)?Groups +\[system:masters system:authenticated\]\n/)
      const hers = await server.kubectl('auth whoami --as=ada --as-group=testers')
      expect(hers).toMatch(/Username +ada\nGroups +\[testers system:authenticated\]\n/)
      const account = await server.kubectl('auth whoami --as=system:serviceaccount:team:bot')
      expect(account).toMatch(/\[system:serviceaccounts system:serviceaccounts:team system:authenticated\]/)
    })

    it('can be another only for those who may', async () => {
      const groupOnly = await server.http('GET', '/api', undefined, { headers: { 'impersonate-group': 'testers' } })
      expect(groupOnly.code).toBe(server.differs('impersonating nobody') ? 400 : 500)
      const rules = [{ apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] }]
      await server.ok('POST', server.path('serviceaccounts'), { metadata: { name: 'boss' } })
      await give(server, 'boss', rules, { kind: 'ServiceAccount', name: 'boss', namespace: server.namespace })
      const token = (await server.kubectl('create token boss')).trim()
      const whoami = (name: string) =>
        server.http(
          'POST',
          `${authentication}/selfsubjectreviews`,
          {},
          { token, headers: { 'impersonate-user': name } },
        )
      expect(await codeSoon(server, () => whoami(`system:serviceaccount:${server.namespace}:other`), 201)).toBe(201)
      expect((await whoami('ada')).body).toMatchObject({
        code: 403,
        message: `users "ada" is forbidden: User "system:serviceaccount:${server.namespace}:boss" cannot impersonate resource "users" in API group "" at the cluster scope`,
      })
    })

    it('is shown by a client certificate', async () => {
      const { key, cert } = server.address.certificate
      const credential = {
        'client-certificate-data': Buffer.from(cert).toString('base64'),
        'client-key-data': Buffer.from(key).toString('base64'),
      }
      const kubeconfig = kubeconfigOf(server, 'carol', credential)
      const whoami = await server.kubectl(['--kubeconfig', kubeconfig, 'auth', 'whoami'])
      expect(whoami).toMatch(/Username +carol\nGroups +\[testers system:authenticated\]/)
      expect(await server.kubectlRefused(['--kubeconfig', kubeconfig, 'get', 'pods'])).toContain(
        'pods is forbidden: User "carol" cannot list resource "pods"',
      )
      const group = { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'testers' }
      await give(server, 'reader', podReader, group)
      const get = () => server.tryKubectl(['--kubeconfig', kubeconfig, 'get', 'pods'])
      await expect.poll(async () => (await get()).code, { timeout: 10_000 }).toBe(0)
    })
  })

  describe('service accounts', () => {
    const account = (name: string) => server.ok('POST', server.path('serviceaccounts'), { metadata: { name } })
    const claimsOf = (token: string) =>
      JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>
    const review = async (token: string, audiences?: string[]) =>
      (await server.ok('POST', `${authentication}/tokenreviews`, { spec: { token, audiences } }))['status'] as object

    it('get tokens by which they are known', async () => {
      const { metadata } = await account('bot')
      const token = (await server.kubectl('create token bot --duration=20m')).trim()
      const name = `system:serviceaccount:${server.namespace}:bot`
      const claims = claimsOf(token)
      expect(claims).toMatchObject({
        sub: name,
        aud: [claims['iss']],
        'kubernetes.io': { namespace: server.namespace, serviceaccount: { name: 'bot', uid: metadata.uid } },
      })
      expect(Number(claims['exp']) - Number(claims['iat'])).toBe(1200)
      const me = await server.ok('POST', `${authentication}/selfsubjectreviews`, {}, { token })
      expect(me['status']).toMatchObject({
        userInfo: {
          username: name,
          uid: metadata.uid,
          groups: ['system:serviceaccounts', `system:serviceaccounts:${server.namespace}`, 'system:authenticated'],
          extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${String(claims['jti'])}`] },
        },
      })
      expect((await server.http('GET', server.path('pods'), undefined, { token })).body.message).toContain(
        `User "${name}" cannot list`,
      )
      await give(server, 'reader', podReader, { kind: 'ServiceAccount', name: 'bot', namespace: server.namespace })
      expect(await codeSoon(server, () => server.http('GET', server.path('pods'), undefined, { token }), 200)).toBe(200)
      const kubeconfig = kubeconfigOf(server, 'bot', { token })
      expect(await server.kubectl(['--kubeconfig', kubeconfig, 'auth', 'can-i', 'list', 'pods'])).toBe('yes\n')
    })

    it('lose their tokens when they are deleted, even if they come again', async () => {
      await account('bot')
      const token = (await server.kubectl('create token bot')).trim()
      const ask = () => server.http('GET', '/api', undefined, { token })
      expect((await ask()).code).toBe(200)
      await server.ok('DELETE', server.path('serviceaccounts/bot'))
      expect(await codeSoon(server, ask, 401)).toBe(401)
      await account('bot')
      await delay(server.isReal ? 500 : 0)
      expect((await ask()).code).toBe(401)
      expect(await review(token)).toMatchObject({ user: {} })
    })

    it('lose a token that is bound to a Secret with the Secret', async () => {
      await account('bot')
      const secret = await server.ok('POST', server.path('secrets'), { metadata: { name: 's' } })
      const token = (await server.kubectl('create token bot --bound-object-kind=Secret --bound-object-name=s')).trim()
      expect(claimsOf(token)['kubernetes.io']).toMatchObject({ secret: { name: 's', uid: secret.metadata.uid } })
      const ask = () => server.http('GET', '/api', undefined, { token })
      expect((await ask()).code).toBe(200)
      await server.ok('DELETE', server.path('secrets/s'))
      expect(await codeSoon(server, ask, 401)).toBe(401)
    })

    it('are refused tokens that cannot be', async () => {
      await account('bot')
      const ask = (spec: object) => server.http('POST', server.path('serviceaccounts/bot/token'), { spec })
      expect((await ask({ expirationSeconds: 5 })).body).toMatchObject({
        code: 422,
        message:
          'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes',
      })
      expect((await ask({ expirationSeconds: 9_999_999_999 })).code).toBe(422)
      const bound = (kind: string) => ({ boundObjectRef: { apiVersion: 'v1', kind, name: 'nothing' } })
      expect((await ask(bound('Pod'))).body).toMatchObject({ code: 404, message: 'pods "nothing" not found' })
      expect((await ask(bound('ConfigMap'))).body).toMatchObject({
        code: 400,
        message: 'cannot bind token to object of type /v1, Kind=ConfigMap',
      })
      expect((await server.http('POST', server.path('serviceaccounts/nobody/token'), {})).code).toBe(404)
      expect((await server.http('GET', server.path('serviceaccounts/bot/token'))).code).toBe(405)
      expect(await server.kubectlRefused('create token bot --as=ada')).toContain(
        `serviceaccounts "bot" is forbidden: User "ada" cannot create resource "serviceaccounts/token" in API group "" in the namespace "${server.namespace}"`,
      )
    })

    it('have tokens for others, which the server does not take itself', async () => {
      await account('bot')
      const token = (await server.kubectl('create token bot --audience=vault')).trim()
      expect(claimsOf(token)['aud']).toEqual(['vault'])
      expect((await server.http('GET', '/api', undefined, { token })).code).toBe(401)
      expect(await review(token)).not.toHaveProperty('authenticated')
      expect(await review(token, ['vault', 'other'])).toMatchObject({ authenticated: true, audiences: ['vault'] })
    })

    it('can be checked by the keys that the server publishes', async () => {
      const { keys } = (await server.http('GET', '/openid/v1/jwks', undefined, { headers: { accept: '*/*' } }))
        .body as unknown as { keys: Array<{ kid: string }> }
      await account('bot')
      const token = (await server.kubectl('create token bot')).trim()
      const head = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }
      expect(keys.map(({ kid }) => kid)).toContain(head.kid)
      const configuration = (await server.http('GET', '/.well-known/openid-configuration')).body
      expect(configuration).toMatchObject({ issuer: claimsOf(token)['iss'], subject_types_supported: ['public'] })
    })
  })

  describe('questions about access', () => {
    it('are answered by auth can-i', async () => {
      expect(await server.kubectl(['auth', 'can-i', '*', '*'])).toBe('yes\n')
      expect((await server.tryKubectl('auth can-i list pods --as=ada')).stdout).toBe('no\n')
      await give(server, 'reader', podReader, user('ada'))
      const list = async () => (await server.tryKubectl('auth can-i list pods --as=ada')).stdout
      await expect.poll(list, { timeout: 10_000 }).toBe('yes\n')
      expect((await server.tryKubectl('auth can-i delete pods --as=ada')).stdout).toBe('no\n')
      expect((await server.tryKubectl('auth can-i get pods --subresource=log --as=ada')).stdout).toBe('no\n')
      expect((await server.tryKubectl('auth can-i get /version --as=ada')).stdout).toBe('yes\n')
      const rules = await server.kubectl('auth can-i --list --as=ada')
      expect(rules).toMatch(/^pods +\[\] +\[\] +\[get list\]$/m)
      expect(rules).toMatch(/^selfsubjectreviews.authentication.k8s.io +\[\] +\[\] +\[create\]$/m)
      expect(rules).toMatch(/^ +\[\/version\] +\[\] +\[get\]$/m)
    })

    it('tell why', async () => {
      await give(server, 'reader', podReader, user('ada'))
      const spec = { resourceAttributes: { verb: 'list', resource: 'pods', namespace: server.namespace } }
      const ask = async () => {
        const review = { spec: { ...spec, user: 'ada' } }
        return (await server.ok('POST', `${authorization}/subjectaccessreviews`, review))['status']
      }
      const reason = `RBAC: allowed by RoleBinding "reader/${server.namespace}" of Role "reader" to User "ada"`
      await expect.poll(ask, { timeout: 10_000 }).toEqual({ allowed: true, reason })
      const self = await server.ok('POST', `${authorization}/selfsubjectaccessreviews`, { spec }, as('bob'))
      expect(self['status']).toEqual({ allowed: false })
      const local = `${authorization}/namespaces/${server.namespace}/localsubjectaccessreviews`
      const named = { metadata: { namespace: server.namespace }, spec: { ...spec, user: 'ada' } }
      expect((await server.ok('POST', local, named))['status']).toEqual({ allowed: true, reason })
    })

    it('must be whole', async () => {
      const ask = async (kind: string, spec: object) =>
        (await server.http('POST', `${authorization}/${kind}`, { spec })).body
      const path = { nonResourceAttributes: { path: '/x', verb: 'get' } }
      const resource = { resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'other' } }
      expect(await ask('selfsubjectaccessreviews', {})).toMatchObject({
        code: 422,
        details: { causes: [{ field: 'spec.resourceAttributes' }] },
      })
      expect(await ask('selfsubjectaccessreviews', { ...path, ...resource })).toMatchObject({
        code: 422,
        details: { causes: [{ field: 'spec.nonResourceAttributes' }] },
      })
      expect(await ask('subjectaccessreviews', resource)).toMatchObject({
        code: 422,
        details: { causes: [{ field: 'spec.user' }] },
      })
      const local = `namespaces/${server.namespace}/localsubjectaccessreviews`
      expect(await ask(local, { ...resource, user: 'ada' })).toMatchObject({
        code: 422,
        details: { causes: [{ field: 'spec.resourceAttributes.namespace' }] },
      })
      expect(await ask('selfsubjectrulesreviews', {})).toMatchObject({ code: 400, message: 'no namespace on request' })
      expect(await ask('selfsubjectaccessreviews', { resourceAttributes: { verb: 1 } })).toMatchObject({
        code: 400,
        message: expect.stringContaining(
          'cannot be handled as a SelfSubjectAccessReview: json: cannot unmarshal number',
        ) as string,
      })
      const strict = 'selfsubjectaccessreviews?fieldValidation=Strict'
      expect(await ask(strict, { resourceAttributes: { verb: 'get', colour: 'red' } })).toMatchObject({
        code: 400,
        message:
          'SelfSubjectAccessReview in version "v1" cannot be handled as a SelfSubjectAccessReview: strict decoding error: unknown field "spec.resourceAttributes.colour"',
      })
      const token = await server.http('POST', `${authentication}/tokenreviews`, { spec: {} })
      expect(token.body).toMatchObject({ code: 400, message: 'token is required for TokenReview in authentication' })
      expect((await server.http('GET', `${authorization}/selfsubjectaccessreviews`)).code).toBe(405)
    })

    it('tell whose a token is', async () => {
      const known = await server.ok('POST', `${authentication}/tokenreviews`, { spec: { token: server.address.token } })
      expect(known['status']).toMatchObject({ authenticated: true, user: { username: 'admin' } })
      const other = await server.ok('POST', `${authentication}/tokenreviews`, { spec: { token: 'nonsense' } })
      expect(other['status']).toMatchObject({
        user: {},
        error: expect.stringContaining('invalid bearer token') as string,
      })
    })
  })

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

  it('says what is in order, line by line', async () => {
    const { text } = await server.http('GET', '/readyz?verbose', undefined, { token: '' })
    expect(text).toMatch(/^\[\+\]ping ok$/m)
    expect(text).toMatch(/^\[\+\]poststarthook\/rbac\/bootstrap-roles ok$/m)
    expect(text).toMatch(/\nreadyz check passed\n$/)
    expect((await server.http('GET', '/livez/ping')).text).toBe('ok')
    expect((await server.http('GET', '/livez/ping', undefined, { token: '' })).code).toBe(403)
  })
})
