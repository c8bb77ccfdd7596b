import { describe, expect, it } from 'vitest'
import { askUntil } from './ask-until.ts'
import type { Answer, ContractServer } from './contract-server.ts'
import { onEachServer } from './on-each-server.ts'
import { about, enforce, refusedBy, removePoliciesAfterEach } from './policy-stage.ts'

removePoliciesAfterEach()

/** Everything that a policy sees of what was sent, as the message of its refusal. */
const seen = (...fields: string[]) => ({
  validations: [
    {
      expression: 'false',
      messageExpression: [
        "request.operation + ' ' + request.kind.kind + ' ' + request.resource.resource + '/' + request.subResource",
        ...fields,
      ].join(" + ' ' + "),
    },
  ],
})

/** A real server hears of a new policy a moment after it was made. */
const refused = (ask: () => Promise<Answer>): Promise<Answer> =>
  askUntil(ask, ({ text }) => text.includes('ValidatingAdmissionPolicy'))

const deployment = (server: ContractServer) => ({
  metadata: { name: 'web', labels: { app: 'web' } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'main', image: server.image }] },
    },
  },
})
const pod = (server: ContractServer) => ({
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'main', image: server.image }] },
})

onEachServer((server) => {
  describe('a policy about a part of an object', () => {
    it.each([
      ['exec?command=ls&command=-l&container=main&stdout=true', 'PodExecOptions', "object.command.join(',')", 'ls,-l'],
      [
        'exec?command=ls&stdin=true&tty=1',
        'PodExecOptions',
        'string(has(object.stdout)) + string(object.tty)',
        'falsetrue',
      ],
      ['attach?container=main&stderr=true', 'PodAttachOptions', 'object.container + string(object.stderr)', 'maintrue'],
      ['portforward?ports=80&ports=81', 'PodPortForwardOptions', 'string(object.ports[1])', '81'],
      ['proxy/a/b?c=d', 'PodProxyOptions', 'object.path', '/a/b'],
      ['proxy', 'PodProxyOptions', 'string(has(object.path))', 'false'],
    ])('judges a connection by its options: pods/%s', async (path, kind, field, value) => {
      const subresource = path.split(/[?/]/)[0] ?? ''
      const name = await enforce(server, {
        matchConstraints: about(`pods/${subresource}`, 'CONNECT'),
        ...seen(field, 'object.kind', 'object.apiVersion', 'request.name', 'string(oldObject == null)'),
      })
      const answer = await refused(() => server.http('POST', server.path(`pods/nobody/${path}`)))
      const why = `CONNECT ${kind} pods/${subresource} ${value} ${kind} v1 nobody true`
      expect([answer.code, answer.body['message']]).toEqual([422, refusedBy(name, 'pods "nobody"', why)])
    })

    it('judges a connection through a Service', async () => {
      const name = await enforce(server, {
        matchConstraints: about('services/proxy', 'CONNECT'),
        ...seen('object.path', 'request.name'),
      })
      const answer = await refused(() => server.http('GET', server.path('services/http:s:80/proxy/x')))
      const why = 'CONNECT ServiceProxyOptions services/proxy /x http:s:80'
      expect([answer.code, answer.body['message']]).toEqual([422, refusedBy(name, 'services "http:s:80"', why)])
    })

    it('judges a scale by what it was and what it would be', async () => {
      await server.ok('POST', server.path('deployments', 'apps/v1'), deployment(server))
      const name = await enforce(server, {
        matchConstraints: about('deployments/scale', 'UPDATE', 'apps'),
        ...seen(
          'string(oldObject.spec.replicas) + string(object.spec.replicas)',
          'object.apiVersion',
          'request.kind.group',
          'request.requestSubResource',
        ),
      })
      const scale = server.path('deployments/web/scale', 'apps/v1')
      const answer = await refused(() => server.patch(`${scale}?dryRun=All`, 'merge', { spec: { replicas: 3 } }))
      const why = 'UPDATE Scale deployments/scale 13 autoscaling/v1 autoscaling scale'
      const told = refusedBy(name, 'deployments.apps "web"', why)
      expect([answer.code, answer.body['message']]).toEqual([422, told])
      const written = { ...(await server.ok('GET', scale)), spec: { replicas: 3 } }
      expect((await server.http('PUT', scale, written)).body['message']).toBe(told)
      // The same number in the object itself is another matter.
      const path = server.path('deployments/web', 'apps/v1')
      expect((await server.patch(path, 'merge', { spec: { replicas: 3 } })).code).toBe(200)
    })

    it('judges a status', async () => {
      await server.ok('POST', server.path('deployments', 'apps/v1'), deployment(server))
      const name = await enforce(server, {
        matchConstraints: about('deployments/status', 'UPDATE', 'apps'),
        ...seen('string(object.status.replicas)', 'object.kind'),
      })
      const path = server.path('deployments/web/status', 'apps/v1')
      const answer = await refused(() => server.patch(path, 'merge', { status: { replicas: 7 } }))
      const why = 'UPDATE Deployment deployments/status 7 Deployment'
      expect([answer.code, answer.body['message']]).toEqual([422, refusedBy(name, 'deployments.apps "web"', why)])
    })

    it('judges a Binding, an Eviction and a TokenRequest', async () => {
      await server.ok('POST', server.path('pods'), pod(server))
      await server.ok('POST', server.path('serviceaccounts'), { metadata: { name: 'robot' } })
      const sent = (kind: string, apiVersion: string, more: object) => ({
        kind,
        apiVersion,
        metadata: { name: 'p' },
        ...more,
      })
      const name = await enforce(server, {
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [''],
              apiVersions: ['v1'],
              operations: ['CREATE'],
              resources: ['pods/binding', 'pods/eviction', 'serviceaccounts/token'],
            },
          ],
        },
        ...seen('object.apiVersion', 'object.metadata.name', 'request.name'),
      })
      const binding = sent('Binding', 'v1', { target: { kind: 'Node', name: 'nobody' } })
      const bound = await refused(() => server.http('POST', server.path('pods/p/binding'), binding))
      expect(bound.body['message']).toBe(refusedBy(name, 'pods "p"', 'CREATE Binding pods/binding v1 p p'))
      const eviction = sent('Eviction', 'policy/v1', {})
      const evicted = await server.http('POST', server.path('pods/p/eviction'), eviction)
      expect(evicted.body['message']).toBe(refusedBy(name, 'pods "p"', 'CREATE Eviction pods/eviction policy/v1 p p'))
      const token = await server.http('POST', server.path('serviceaccounts/robot/token'), { spec: {} })
      const why = 'CREATE TokenRequest serviceaccounts/token authentication.k8s.io/v1 robot robot'
      expect(token.body['message']).toBe(refusedBy(name, 'serviceaccounts "robot"', why))
      expect((await server.ok('GET', server.path('pods/p'))).metadata.deletionTimestamp).toBeUndefined()
    })

    it('lets an eviction and a binding be, where it is about changes and deletions of Pods', async () => {
      await server.ok('POST', server.path('pods'), pod(server))
      await enforce(server, {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE', 'DELETE'], resources: ['pods'] },
          ],
        },
        ...seen(),
      })
      await refused(() => server.http('DELETE', `${server.path('pods/p')}?dryRun=All`))
      const binding = {
        kind: 'Binding',
        apiVersion: 'v1',
        metadata: { name: 'p' },
        target: { kind: 'Node', name: 'n' },
      }
      expect((await server.http('POST', server.path('pods/p/binding'), binding)).code).toBe(201)
      const eviction = { kind: 'Eviction', apiVersion: 'policy/v1', metadata: { name: 'p' } }
      expect((await server.http('POST', server.path('pods/p/eviction'), eviction)).code).toBe(201)
    })

    it.each([
      ['deployments', [false, true]],
      ['deployments/*', [true, true]],
      ['*/scale', [true, false]],
      ['*/*', [true, true]],
      ['*', [false, true]],
    ] as const)('takes %s as Kubernetes does', async (resource, expected) => {
      await server.ok('POST', server.path('deployments', 'apps/v1'), deployment(server))
      await enforce(server, { matchConstraints: about(resource, 'UPDATE', 'apps'), ...seen() })
      const change = (path: string) =>
        server.patch(`${server.path(path, 'apps/v1')}?dryRun=All`, 'merge', { spec: { replicas: 2 } })
      const ask = async () => {
        const answers = [await change('deployments/web/scale'), await change('deployments/web')]
        return answers.map(({ code }) => code === 422)
      }
      await askUntil(ask, (answers) => answers.includes(true))
      // Once more: it may have come to count between the first answer and the second.
      expect(await ask()).toEqual(expected)
    })

    it('selects a connection by no label, but by its name', async () => {
      const rule = { ...about('pods/exec', 'CONNECT').resourceRules[0], resourceNames: ['chosen'] }
      await enforce(server, { matchConstraints: { resourceRules: [rule] }, ...seen() })
      const exec = (name: string) => server.http('POST', `${server.path(`pods/${name}/exec`)}?command=ls&stdout=true`)
      await refused(() => exec('chosen'))
      expect((await exec('other')).code).toBe(404)
    })

    it('selects no connection where it asks for labels', async () => {
      const objectSelector = { matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] }
      const both = [...about('pods/exec', 'CONNECT').resourceRules, ...about('configmaps', 'CREATE').resourceRules]
      await enforce(server, { matchConstraints: { resourceRules: both, objectSelector }, ...seen() })
      await refused(() => server.http('POST', `${server.path('configmaps')}?dryRun=All`, { metadata: { name: 'm' } }))
      expect((await server.http('POST', `${server.path('pods/x/exec')}?command=ls&stdout=true`)).code).toBe(404)
    })
  })
})
