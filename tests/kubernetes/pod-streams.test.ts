import { connect } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { onEachServer } from './on-each-server.ts'

// What an API server decides by itself; what a node answers is in tests/integration/pod-streams.test.ts.
onEachServer((server) => {
  const pod = (name: string, spec: object = {}) => ({
    metadata: { name },
    spec: { automountServiceAccountToken: false, containers: [{ name: 'main', image: server.image }], ...spec },
  })
  const refusal = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const { code, body } = await server.http(method, server.path(path), undefined, { headers })
    return [code, body['message']]
  }

  async function makePods(): Promise<void> {
    const two = [
      { name: 'main', image: server.image },
      { name: 'side', image: server.image },
    ]
    const setup = [{ name: 'setup', image: server.image }]
    await server.http('POST', '/api/v1/nodes', {
      metadata: { name: 'streams-node' },
      status: {
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: 1 } },
      },
    })
    await server.ok('POST', server.path('pods'), pod('homeless'))
    await server.ok('POST', server.path('pods'), pod('hosted', { nodeName: 'streams-node' }))
    const several = pod('several', { nodeName: 'streams-node', containers: two, initContainers: setup })
    await server.ok('POST', server.path('pods'), several)
  }

  describe('streams into Pods', () => {
    it('need a Pod, a container and a node', async () => {
      await makePods()
      for (const kind of ['exec?command=a&stdout=true', 'attach?stdout=true']) {
        const [path] = kind.split('?')
        expect(await refusal('GET', `pods/nobody/${kind}`)).toEqual([404, 'pods "nobody" not found'])
        expect(await refusal('POST', `pods/several/${kind}`)).toEqual([
          400,
          'a container name must be specified for pod several, choose one of: [setup main side]',
        ])
        expect(await refusal('POST', `pods/several/${path}?container=x`)).toEqual([
          400,
          'container x is not valid for pod several',
        ])
        expect(await refusal('GET', `pods/homeless/${kind}`)).toEqual([
          400,
          'pod homeless does not have a host assigned',
        ])
      }
      expect(await refusal('GET', 'pods/homeless/portforward')).toEqual([
        400,
        'pod homeless does not have a host assigned',
      ])
      expect(await refusal('POST', 'pods/nobody/portforward')).toEqual([404, 'pods "nobody" not found'])
    })

    it('need a connection that is upgraded', async () => {
      await makePods()
      const paths = ['exec?command=a&stdout=true', 'exec', 'attach', 'portforward', 'portforward?ports=80']
      for (const path of paths) {
        expect(await refusal('GET', `pods/hosted/${path}`)).toEqual([400, 'Upgrade request required'])
        expect(await refusal('POST', `pods/hosted/${path}`)).toEqual([400, 'Upgrade request required'])
      }
      const [code, message] = await refusal('GET', 'pods/hosted/portforward?ports=x')
      expect(code).toBe(400)
      expect(message).toContain('parsing "x": invalid syntax')
    })

    it('can only be got and created', async () => {
      await makePods()
      for (const method of ['PUT', 'DELETE', 'PATCH']) {
        const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}
        expect((await refusal(method, 'pods/hosted/exec', headers))[0]).toBe(405)
      }
    })

    it('are refused in HTTP although an upgrade is wanted', async () => {
      await makePods()
      const answer = await upgradeRefused('pods/several/exec?command=a&stdout=true')
      expect(answer).toMatch(/^HTTP\/1\.1 400 /)
      expect(answer).toContain('a container name must be specified for pod several')
      expect(await upgradeRefused('pods/nobody/portforward')).toMatch(/^HTTP\/1\.1 404 /)
    })

    it('are for those who may get, or create, the subresource', async () => {
      await makePods()
      const rules = [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['get'] }]
      await server.ok('POST', server.path('roles', 'rbac.authorization.k8s.io/v1'), { metadata: { name: 'r' }, rules })
      await server.ok('POST', server.path('rolebindings', 'rbac.authorization.k8s.io/v1'), {
        metadata: { name: 'r' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'streamer' }],
      })
      const headers = { 'impersonate-user': 'streamer' }
      // A new role takes a moment to be known.
      await expect
        .poll(() => refusal('GET', 'pods/hosted/exec', headers), { timeout: 10_000 })
        .toEqual([400, 'Upgrade request required'])
      const [code, message] = await refusal('POST', 'pods/hosted/exec', headers)
      expect(code).toBe(403)
      expect(message).toContain('User "streamer" cannot create resource "pods/exec" in API group ""')
      const [forwardCode, forwardMessage] = await refusal('GET', 'pods/hosted/portforward', headers)
      expect(forwardCode).toBe(403)
      expect(forwardMessage).toContain('cannot get resource "pods/portforward"')
    })
  })

  describe('logs', () => {
    it('of a Pod that no node has are empty', async () => {
      await makePods()
      expect(await server.http('GET', server.path('pods/homeless/log'))).toMatchObject({ code: 204, text: '' })
    })

    it('are refused with options that make no sense, before anybody looks for the Pod', async () => {
      const invalid = (name: string, why: string) => [422, `PodLogOptions "${name}" is invalid: ${why}`]
      expect(await refusal('GET', 'pods/p/log?tailLines=-1')).toEqual(
        invalid('p', 'tailLines: Invalid value: -1: must be greater than or equal to 0'),
      )
      expect(await refusal('GET', 'pods/p/log?limitBytes=0')).toEqual(
        invalid('p', 'limitBytes: Invalid value: 0: must be greater than 0'),
      )
      expect(await refusal('GET', 'pods/p/log?sinceSeconds=0')).toEqual(
        invalid('p', 'sinceSeconds: Invalid value: 0: must be greater than 0'),
      )
      expect(await refusal('GET', 'pods/p/log?sinceSeconds=5&sinceTime=2024-01-01T00:00:00Z')).toEqual(
        invalid('p', '[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified'),
      )
      expect(await refusal('GET', 'pods/p/log?tailLines=x')).toEqual([
        400,
        'strconv.ParseInt: parsing "x": invalid syntax',
      ])
      const [code, message] = await refusal('GET', 'pods/p/log?sinceTime=yesterday')
      expect(code).toBe(400)
      expect(message).toContain('parsing time "yesterday" as "2006-01-02T15:04:05Z07:00"')
      expect(await refusal('GET', 'pods/p/log')).toEqual([404, 'pods "p" not found'])
    })

    it('need a container that is there', async () => {
      await makePods()
      expect(await refusal('GET', 'pods/several/log')).toEqual([
        400,
        'a container name must be specified for pod several, choose one of: [setup main side]',
      ])
      expect(await refusal('GET', 'pods/several/log?container=x')).toEqual([
        400,
        'container x is not valid for pod several',
      ])
    })
  })

  /** The answer to a WebSocket handshake that is not accepted. */
  function upgradeRefused(path: string): Promise<string> {
    const { hostname, port, pathname } = new URL(server.address.server)
    const head = [
      `GET ${pathname.replace(/\/$/, '')}${server.path(path)} HTTP/1.1`,
      `Host: ${hostname}`,
      `Authorization: Bearer ${server.address.token}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Protocol: v5.channel.k8s.io, SPDY/3.1+portforward.k8s.io',
    ]
    return new Promise((resolve, reject) => {
      // Certificates are not what is tested here.
      const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false })
      let answer = ''
      socket.setTimeout(20_000, () => reject(new Error(`no answer but ${answer}`)))
      socket.on('error', reject)
      socket.on('data', (chunk: Buffer) => {
        answer += chunk.toString()
        if (answer.trimEnd().endsWith('}')) {
          socket.destroy()
          resolve(answer)
        }
      })
      socket.write(`${head.join('\r\n')}\r\n\r\n`)
    })
  }
})
