import { describe, expect, it } from 'vitest'
import { as, authentication, authorization, give, podReader, user } from './access-objects.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
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
})
