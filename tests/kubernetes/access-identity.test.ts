import { describe, expect, it } from 'vitest'
import { authentication, codeSoon, give, kubeconfigOf, podReader } from './access-objects.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
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

  it('says what is in order, line by line', async () => {
    const { text } = await server.http('GET', '/readyz?verbose', undefined, { token: '' })
    expect(text).toMatch(/^\[\+\]ping ok$/m)
    expect(text).toMatch(/^\[\+\]poststarthook\/rbac\/bootstrap-roles ok$/m)
    expect(text).toMatch(/\nreadyz check passed\n$/)
    expect((await server.http('GET', '/livez/ping')).text).toBe('ok')
    expect((await server.http('GET', '/livez/ping', undefined, { token: '' })).code).toBe(403)
  })
})
