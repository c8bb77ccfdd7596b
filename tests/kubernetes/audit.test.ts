import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { askUntil } from './ask-until.ts'
import type { CallOptions } from './contract-server.ts'
import { onEachServer } from './on-each-server.ts'

interface Line {
  readonly [field: string]: unknown
  readonly auditID: string
  readonly stage: string
  readonly user: Record<string, unknown>
  readonly objectRef?: Record<string, unknown>
  readonly responseStatus: Record<string, unknown>
  readonly annotations?: Record<string, string>
}

onEachServer((server) => {
  const linesOf = (id: string): Line[] =>
    readFileSync(server.address.auditLog ?? '', 'utf8')
      .split('\n')
      .filter((text) => text.includes(id))
      .map((text) => JSON.parse(text) as Line)

  /** Sends it under an ID of its own, and waits for the line about its end. */
  async function audited(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Line> {
    const id = randomUUID()
    const headers = { 'audit-id': id, 'user-agent': 'audit-test/1', ...options.headers }
    const answer = await server.http(method, path, body, { ...options, headers })
    expect(answer.headers['audit-id']).toBe(id)
    const lines = await askUntil(
      async () => linesOf(id),
      // A real server says of an unknown credential only that its answer began.
      (found) => found.some(({ stage }) => stage === 'ResponseComplete' || answer.code === 401),
    )
    const line = lines.at(-1)
    if (!line) throw new Error('there is no line')
    expect(line.responseStatus['code']).toBe(answer.code)
    return line
  }

  const map = (name: string) => ({ metadata: { name }, data: { key: 'hush-hush' } })
  const maps = () => server.path('configmaps')

  describe('a line of the audit log', () => {
    it('has the fields of audit.k8s.io/v1 at level Metadata', async () => {
      const line = await audited('POST', maps(), map('a'))
      const { auditID, requestReceivedTimestamp, stageTimestamp, requestURI, ...rest } = line
      expect(auditID).toMatch(/^[0-9a-f-]{36}$/)
      for (const time of [requestReceivedTimestamp, stageTimestamp]) {
        expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
      }
      expect(requestURI).toBe(new URL(server.address.server).pathname.replace(/\/$/, '') + maps())
      expect(rest).toEqual({
        kind: 'Event',
        apiVersion: 'audit.k8s.io/v1',
        level: 'Metadata',
        stage: 'ResponseComplete',
        verb: 'create',
        user: expect.objectContaining({ username: 'admin', groups: ['system:masters', 'system:authenticated'] }),
        sourceIPs: ['127.0.0.1'],
        userAgent: 'audit-test/1',
        objectRef: { resource: 'configmaps', namespace: server.namespace, name: 'a', apiVersion: 'v1' },
        responseStatus: { metadata: {}, code: 201 },
        annotations: {
          'authorization.k8s.io/decision': 'allow',
          'authorization.k8s.io/reason': '',
          ...(server.differs('audit lines') && { 'sluice.dev/cluster': 'contract' }),
        },
      })
    })

    it('says of every kind of write what it was about', async () => {
      const merge = { headers: { 'content-type': 'application/merge-patch+json' } }
      const about = { namespace: server.namespace, apiVersion: 'v1' }
      const one = { ...about, resource: 'configmaps', name: 'a' }
      await audited('POST', maps(), map('a'))
      const { metadata } = await server.ok('GET', `${maps()}/a`)
      const written = { metadata: { ...metadata, managedFields: undefined }, data: {} }
      const rows: Array<[Line, string, Record<string, unknown>]> = [
        [
          await audited('PUT', `${maps()}/a`, written),
          'update',
          { ...one, uid: metadata.uid, resourceVersion: metadata.resourceVersion },
        ],
        [await audited('PATCH', `${maps()}/a`, { data: {} }, merge), 'patch', one],
        [await audited('POST', `${maps()}?dryRun=All`, map('dry')), 'create', { ...one, name: 'dry' }],
        [await audited('DELETE', `${maps()}/a`), 'delete', one],
        [await audited('DELETE', maps()), 'deletecollection', { ...about, resource: 'configmaps' }],
        [
          await audited('PUT', server.path('deployments/d/scale', 'apps/v1'), scale('d')),
          'update',
          { ...about, resource: 'deployments', apiGroup: 'apps', name: 'd', subresource: 'scale' },
        ],
        [
          await audited('POST', server.path('serviceaccounts/default/token'), {}),
          'create',
          { ...about, resource: 'serviceaccounts', name: 'default', subresource: 'token' },
        ],
        [await audited('POST', server.path('nothings'), {}), 'create', { ...about, resource: 'nothings' }],
      ]
      for (const [line, verb, object] of rows) {
        expect(line).toMatchObject({ verb, stage: 'ResponseComplete' })
        expect(line.objectRef).toEqual(object)
      }
    })

    it('counts exec, attach, port-forward and proxy as something done, by their own method', async () => {
      for (const path of ['pods/p/exec', 'pods/p/attach', 'pods/p/portforward', 'pods/p/proxy', 'services/s/proxy']) {
        const [resource, name, subresource] = path.split('/')
        for (const [method, verb] of [
          ['GET', 'get'],
          ['POST', 'create'],
        ] as const) {
          const line = await audited(method, `${server.path(path)}?command=ls`)
          expect(line).toMatchObject({ verb, stage: 'ResponseComplete', objectRef: { resource, name, subresource } })
          const isProxied = subresource === 'proxy' && server.differs('audit lines')
          expect(String(line['requestURI']).endsWith('?command=ls')).toBe(!isProxied)
        }
      }
    })

    it('tells who was refused, and why', async () => {
      const stranger = await audited('POST', maps(), map('b'), { token: '' })
      expect(stranger).toMatchObject({
        user: { username: 'system:anonymous', groups: ['system:unauthenticated'] },
        responseStatus: { metadata: {}, status: 'Failure', reason: 'Forbidden', code: 403 },
        annotations: { 'authorization.k8s.io/decision': 'forbid', 'authorization.k8s.io/reason': '' },
      })
      // Nobody knows its name: the body of who may not write is not read.
      expect(stranger.objectRef).toEqual({ resource: 'configmaps', namespace: server.namespace, apiVersion: 'v1' })
      const unknown = await audited('POST', maps(), map('b'), { token: 'wrong' })
      expect(unknown.user).toEqual({})
      expect(unknown.stage).toBe(server.differs('audit lines') ? 'ResponseComplete' : 'ResponseStarted')
      expect(unknown.responseStatus).toMatchObject({ status: 'Failure', reason: 'Unauthorized', code: 401 })
      const missing = await audited('DELETE', `${maps()}/missing`)
      expect(missing.responseStatus).toMatchObject({ metadata: {}, status: 'Failure', reason: 'NotFound', code: 404 })
      expect('message' in missing.responseStatus).toBe(!server.differs('audit lines'))
    })

    it('tells as whom somebody acts, and from where by way of which proxies', async () => {
      const headers = {
        'impersonate-user': 'ada',
        'impersonate-group': 'testers',
        'x-forwarded-for': '192.0.2.7, nonsense, 2001:db8::1',
        'x-real-ip': '192.0.2.8',
      }
      const line = await audited('POST', maps(), map('c'), { headers })
      expect(line).toMatchObject({
        user: { username: 'admin' },
        impersonatedUser: { username: 'ada', groups: ['testers', 'system:authenticated'] },
        sourceIPs: ['192.0.2.7', '2001:db8::1', '192.0.2.8', '127.0.0.1'],
        responseStatus: { code: 403 },
      })
    })

    it('is not there for reads, and has nothing of what was written', async () => {
      const id = randomUUID()
      await server.http('GET', maps(), undefined, { headers: { 'audit-id': id } })
      // Its line is behind the one of the read, if there were one.
      const line = await audited('POST', maps(), map('d'))
      expect(linesOf(id)).toEqual([])
      expect(JSON.stringify(line)).not.toContain('hush')
    })
  })

  function scale(name: string) {
    return {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name, namespace: server.namespace },
      spec: { replicas: 1 },
    }
  }
})
