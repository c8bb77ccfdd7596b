import { expect, it } from 'vitest'
import { askUntil } from './ask-until.ts'
import type { CallOptions, ContractServer } from './contract-server.ts'
import { onEachServer } from './on-each-server.ts'
import { about, enforce, policies, policyOf, refusedBy, removePoliciesAfterEach } from './policy-stage.ts'

removePoliciesAfterEach()

/** Each expectation by itself, since a real server lets an expression ask twice at most; then that all of them hold. */
const expecting = (expectations: readonly string[]) => ({
  validations: [
    ...expectations.map((expression) => ({ expression })),
    { expression: 'false', message: 'everything is as expected' },
  ],
})

/** What a policy says to somebody who creates a ConfigMap. */
async function saidTo(server: ContractServer, options: CallOptions): Promise<unknown> {
  const create = () =>
    server.http('POST', `${server.path('configmaps')}?dryRun=All`, { metadata: { name: 'm' } }, options)
  return (await askUntil(create, ({ code }) => code === 422)).body['message']
}

async function allow(server: ContractServer, user: string, rules: readonly object[]): Promise<void> {
  const access = 'rbac.authorization.k8s.io/v1'
  await server.ok('POST', server.path('roles', access), { metadata: { name: user }, rules })
  await server.ok('POST', server.path('rolebindings', access), {
    metadata: { name: user },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
    subjects: [
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user },
      { kind: 'ServiceAccount', name: 'robot', namespace: server.namespace },
    ],
  })
}

onEachServer((server) => {
  it('lets a policy ask who may do what', async () => {
    await allow(server, 'dave', [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'patch'] },
      { apiGroups: ['apps'], resources: ['deployments/scale'], resourceNames: ['web'], verbs: ['update'] },
    ])
    const scale = `authorizer.group('apps').resource('deployments').subresource('scale').namespace('${server.namespace}')`
    const maps = `group('').resource('configmaps').namespace('${server.namespace}')`
    const asked = [
      "authorizer.requestResource.check('patch').allowed()",
      "authorizer.requestResource.check('delete').allowed()",
      `${scale}.name('web').check('update').allowed()`,
      `${scale}.name('other').check('update').allowed()`,
      `${scale}.check('update').allowed()`,
      "authorizer.path('/version').check('get').allowed()",
      "authorizer.path('/secret').check('get').allowed()",
      `authorizer.serviceAccount('${server.namespace}', 'robot').${maps}.check('create').allowed()`,
      `authorizer.serviceAccount('${server.namespace}', 'other').${maps}.check('create').allowed()`,
      "authorizer.requestResource.check('delete').errored()",
    ]
    const ofAdmin = [true, true, true, true, true, true, true, true, false, false]
    const ofDave = [true, false, true, false, false, true, false, true, false, false]
    const isDave = "request.userInfo.username == 'dave'"
    const expectations = asked.map((ask, index) => `${ask} == (${isDave} ? ${ofDave[index]} : ${ofAdmin[index]})`)
    const name = await enforce(server, expecting(expectations))
    const asExpected = refusedBy(name, 'configmaps "m"', 'everything is as expected')
    expect(await saidTo(server, {})).toBe(asExpected)
    const asDave = { headers: { 'impersonate-user': 'dave', 'impersonate-group': 'system:authenticated' } }
    expect(await saidTo(server, asDave)).toBe(asExpected)
  })

  it('tells a policy why somebody may', async () => {
    await allow(server, 'dave', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['create'] }])
    const why = `RBAC: allowed by RoleBinding "dave/${server.namespace}" of Role "dave" to User "dave"`
    const asked = `authorizer.requestResource.check('create').reason() == '${why}'`
    const name = await enforce(server, expecting([asked, "authorizer.path('/nowhere').check('get').reason() == ''"]))
    const asExpected = refusedBy(name, 'configmaps "m"', 'everything is as expected')
    expect(await saidTo(server, { headers: { 'impersonate-user': 'dave' } })).toBe(asExpected)
  })

  it('lets nobody be asked for a message', async () => {
    const messageExpression = "authorizer.path('/').check('get').reason()"
    const spec = { validations: [{ expression: 'false', messageExpression }] }
    const { code, body } = await server.http('POST', policies, policyOf('refused', spec))
    expect([code, body['message']]).toEqual([
      422,
      expect.stringContaining('spec.validations[0].messageExpression: Invalid value: '),
    ])
    expect(body['message']).toContain("undeclared reference to 'authorizer' (in container '')")
  })

  it('lets a policy ask whether something computed has a field', async () => {
    const validations = [
      { expression: 'has(object.spec.containers[0].command)', message: 'no command' },
      { expression: "has(object.spec.containers.filter(c, c.name == 'main')[0].args)", message: 'no args' },
      {
        expression: 'object.spec.containers.all(c, has([c].filter(d, has([d][0].image))[0].image))',
        message: 'no image',
      },
    ]
    const name = await enforce(server, { matchConstraints: about('pods', 'CREATE'), validations })
    const create = (container: object) =>
      server.http('POST', `${server.path('pods')}?dryRun=All`, {
        metadata: { name: 'p' },
        spec: { containers: [{ name: 'main', image: server.image, ...container }] },
      })
    const without = await askUntil(
      () => create({ args: ['x'] }),
      ({ code }) => code === 422,
    )
    expect(without.body['message']).toBe(refusedBy(name, 'pods "p"', 'no command'))
    expect((await create({ command: ['a'] })).body['message']).toBe(refusedBy(name, 'pods "p"', 'no args'))
    expect((await create({ command: ['a'], args: ['b'] })).code).toBe(201)
  })
})
