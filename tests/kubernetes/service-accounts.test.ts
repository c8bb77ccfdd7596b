import { describe, expect, it } from 'vitest'
import { authentication, codeSoon, give, kubeconfigOf, podReader } from './access-objects.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
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
      const another = (await server.kubectl('create token bot')).trim()
      // Once the server accepts the new account's token it knows of the new account, and judges the old token by it.
      const askAgain = () => server.http('GET', '/api', undefined, { token: another })
      expect(await codeSoon(server, askAgain, 200)).toBe(200)
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
})
