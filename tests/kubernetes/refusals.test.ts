import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { configMap, model } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  const failure = (code: number, reason: string) => ({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason,
    code,
  })

  describe('what is not there', () => {
    it('is a 404 that names it', async () => {
      const core = await server.http('GET', server.path('configmaps/a'))
      expect(core.code).toBe(404)
      expect(core.body).toEqual({
        ...failure(404, 'NotFound'),
        metadata: {},
        message: 'configmaps "a" not found',
        details: { name: 'a', kind: 'configmaps' },
      })
      const custom = await server.http('GET', server.path('models/a', 'sluice.dev/v1'))
      expect(custom.body).toEqual({
        ...failure(404, 'NotFound'),
        metadata: {},
        message: 'models.sluice.dev "a" not found',
        details: { name: 'a', group: 'sluice.dev', kind: 'models' },
      })
    })

    it('is a 404 without a name when it is the resource itself', async () => {
      for (const path of [
        server.path('gadgets'),
        '/api/v2/pods',
        '/apis/nothing.example.com/v1/things',
        '/apis/sluice.dev/v9/models',
        server.path('configmaps/a/colour'),
        '/nowhere',
      ]) {
        const answer = await server.http('GET', path)
        expect(answer.code, `it said ${path}`).toBe(404)
      }
    })
  })

  describe('what cannot be done there', () => {
    it('is a 405', async () => {
      await server.ok('POST', server.path('configmaps'), configMap('a'))
      for (const [method, path] of [
        ['POST', server.path('configmaps/a')],
        ['PUT', server.path('configmaps')],
        ['PATCH', server.path('configmaps')],
        ['POST', '/api/v1/configmaps'],
        ['DELETE', server.path('models/m/status', 'sluice.dev/v1')],
      ] as const) {
        const answer = await server.http(method, path, method === 'DELETE' ? undefined : {}, {
          headers: method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {},
        })
        expect([answer.code, answer.body.reason], `${method} ${path}`).toEqual([405, 'MethodNotAllowed'])
      }
    })
  })

  describe('formats', () => {
    it('that cannot be shown are a 406', async () => {
      const accept = (value: string) =>
        server.http('GET', server.path('configmaps'), undefined, { headers: { accept: value } })
      const answer = await accept('text/html')
      expect(answer.code).toBe(406)
      expect(answer.body).toMatchObject(failure(406, 'NotAcceptable'))
      expect((await accept('application/json;as=Table;v=v9;g=meta.k8s.io')).code).toBe(406)
      expect((await accept('text/html, application/json;q=0.5')).code).toBe(200)
      expect((await accept('*/*')).code).toBe(200)
    })

    it('that cannot be read are a 415', async () => {
      const answer = await server.http('POST', server.path('configmaps'), 'hello', {
        headers: { 'content-type': 'text/plain' },
      })
      expect(answer.code).toBe(415)
      expect(answer.body).toMatchObject(failure(415, 'UnsupportedMediaType'))
      expect(answer.body.message).toContain(
        'the body of the request was in an unknown format - accepted media types include: application/json',
      )
    })

    it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/octet-stream'])(
      'that are JSON or YAML but are called %s are a 415',
      async (type) => {
        for (const body of [JSON.stringify(configMap('named')), 'metadata:\n  name: named\n']) {
          const answer = await server.http('POST', server.path('configmaps'), body, {
            headers: { 'content-type': type },
          })
          expect(answer.code).toBe(415)
          expect(answer.body).toMatchObject(failure(415, 'UnsupportedMediaType'))
        }
      },
    )

    it('that are called nothing at all are read as JSON', async () => {
      const nameless = { headers: { 'content-type': '' } }
      const json = await server.http('POST', server.path('configmaps'), JSON.stringify(configMap('nameless')), nameless)
      expect(json.code).toBe(201)
      const yaml = await server.http('POST', server.path('configmaps'), 'metadata:\n  name: nameless\n', nameless)
      expect(yaml.code).toBe(400)
    })

    it('of YAML are read', async () => {
      const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: "1"\n'
      const created = await server.http('POST', server.path('configmaps'), text, {
        headers: { 'content-type': 'application/yaml' },
      })
      expect(created.code, `it said ${created.text}`).toBe(201)
      expect(created.body['data']).toEqual({ k: '1' })
    })

    it('of protobuf are not for custom kinds', async () => {
      const headers = { accept: 'application/vnd.kubernetes.protobuf' }
      const answer = await server.http('GET', server.path('models', 'sluice.dev/v1'), undefined, { headers })
      expect(answer.code).toBe(406)
      const either = { accept: 'application/vnd.kubernetes.protobuf,application/json' }
      expect(
        (await server.http('GET', server.path('models', 'sluice.dev/v1'), undefined, { headers: either })).body.kind,
      ).toBe('ModelList')
    })
  })

  describe('bodies', () => {
    it.each([
      ['no JSON', '{"metadata":'],
      ['no object', '[]'],
      ['a bare string', '"hello"'],
      ['nothing', ''],
    ])('of %s are a 400', async (_what, body) => {
      const answer = await server.http('POST', server.path('configmaps'), body)
      expect(answer.code, `it said ${answer.text}`).toBeGreaterThanOrEqual(400)
      expect(answer.code).toBeLessThan(500)
    })

    it('over 3 MiB are a 413', async () => {
      const large = configMap('a', { data: { text: 'x'.repeat(3 * 1024 * 1024) } })
      const answer = await server.http('POST', server.path('configmaps'), large)
      expect([answer.code, answer.body.reason]).toEqual([413, 'RequestEntityTooLarge'])
    })

    it('over 1 MiB of data are a 422', async () => {
      const large = configMap('a', { data: { text: 'x'.repeat(1024 * 1024 + 1) } })
      const answer = await server.http('POST', server.path('configmaps'), large)
      expect([answer.code, answer.body.reason]).toEqual([422, 'Invalid'])
    })

    it('nested too deep are refused, and the server goes on', async () => {
      const deep = `{"metadata":{"name":"a"},"data":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`
      const answer = await server.http('POST', server.path('configmaps'), deep)
      expect(answer.code).toBeGreaterThanOrEqual(400)
      expect(answer.code).toBeLessThan(500)
      expect((await server.http('GET', '/readyz')).code).toBe(200)
    })
  })

  describe('paths', () => {
    it.each(['%2e%2e', '..%2fsecrets', 'a%2fb', '%00', 'a%20b'])('refuse the name %s', async (name) => {
      const answer = await server.http('GET', server.path(`configmaps/${name}`))
      expect(answer.code).toBeGreaterThanOrEqual(400)
      expect(answer.code).toBeLessThan(500)
    })

    it('and selectors may be large, but not endless', async () => {
      const selector = Array.from({ length: 300_000 }, (_, index) => `k${index}=v`).join(',')
      const answer = await server
        .http('GET', server.path(`configmaps?labelSelector=${selector}`))
        .catch(() => undefined)
      // One server answers 431, another closes the connection: either way it goes on.
      expect([400, 414, 431, undefined]).toContain(answer?.code)
      expect((await server.http('GET', '/readyz')).code).toBe(200)
    })
  })

  describe('who is not known', () => {
    it('is a 401, and health is still public', async () => {
      const answer = await server.http('GET', server.path('configmaps'), undefined, { token: 'wrong' })
      expect(answer.code).toBe(401)
      expect(answer.body).toMatchObject({ ...failure(401, 'Unauthorized'), message: 'Unauthorized' })
      for (const path of ['/healthz', '/livez', '/readyz', '/version']) {
        expect((await server.http('GET', path, undefined, { token: '' })).code, `it said ${path}`).toBe(200)
      }
    })

    it('must speak TLS', async () => {
      const { hostname, port } = new URL(server.address.server)
      const text = await new Promise<string>((resolve) => {
        let answer = ''
        const socket = connect(Number(port), hostname, () => socket.end('GET /version HTTP/1.1\r\nhost: x\r\n\r\n'))
        socket.on('data', (data) => (answer += data.toString('latin1')))
        socket.on('error', () => resolve(answer))
        socket.on('close', () => resolve(answer))
      })
      expect(text).not.toContain('gitVersion')
    })
  })

  describe('refusals of objects', () => {
    it('name every field at fault', async () => {
      const answer = await server.http(
        'POST',
        server.path('models', 'sluice.dev/v1'),
        model('m', { url: 'http://x', minReplicas: -1 }),
      )
      expect(answer.code).toBe(422)
      expect(answer.body).toMatchObject({
        ...failure(422, 'Invalid'),
        details: { name: 'm', group: 'sluice.dev', kind: 'Model' },
      })
      const { causes } = answer.body['details'] as { causes: Array<{ field: string }> }
      expect(causes.map(({ field }) => field)).toEqual(expect.arrayContaining(['spec.url', 'spec.minReplicas']))
    })

    it('say that a name is taken', async () => {
      await server.ok('POST', server.path('configmaps'), configMap('a'))
      const answer = await server.http('POST', server.path('configmaps'), configMap('a'))
      expect(answer.body).toEqual({
        ...failure(409, 'AlreadyExists'),
        metadata: {},
        message: 'configmaps "a" already exists',
        details: { name: 'a', kind: 'configmaps' },
      })
    })

    it('say that a namespace is not there', async () => {
      const answer = await server.http('POST', '/api/v1/namespaces/nowhere/configmaps', configMap('a'))
      expect(answer.body).toMatchObject({ ...failure(404, 'NotFound'), message: 'namespaces "nowhere" not found' })
    })
  })
})
