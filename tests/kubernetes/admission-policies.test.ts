import { expect, it } from 'vitest'
import { askUntil } from './ask-until.ts'
import type { ContractServer } from './contract-server.ts'
import { followParameters } from './followed-parameters.ts'
import { onEachServer } from './on-each-server.ts'
import {
  type Fields,
  bindingOf,
  bindings,
  enforce,
  everyConfigMap,
  policies,
  policyOf,
  refusedBy,
  removePoliciesAfterEach,
} from './policy-stage.ts'

removePoliciesAfterEach()

const mapOf = (data: Fields, metadata: Fields = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'm', ...metadata },
  data,
})

const tryCreate = async (server: ContractServer, object: unknown) => {
  const { code, body, headers } = await server.http('POST', `${server.path('configmaps')}?dryRun=All`, object)
  const { message, reason, details } = body as Fields
  return { code, message, reason, details, warning: headers['warning'] }
}

/** A real server hears of a new policy a moment after it was made. */
const refusal = (server: ContractServer, object: unknown) =>
  askUntil(
    () => tryCreate(server, object),
    ({ code }) => code !== 201,
  )

const denied = (name: string, why: string) => ({ message: refusedBy(name, 'configmaps "m"', why) })

onEachServer((server) => {
  it('refuses what breaks a policy, in its words and with its reason', async () => {
    const name = await enforce(server, {
      validations: [
        { expression: "!has(object.data.bad) || object.data.bad != 'yes'" },
        { expression: '!has(object.data.worse)', message: 'nothing worse, please', reason: 'Forbidden' },
        { expression: '!has(object.data.told)', messageExpression: "'not ' + object.data.told" },
      ],
    })
    const why = "failed expression: !has(object.data.bad) || object.data.bad != 'yes'"
    expect(await refusal(server, mapOf({ bad: 'yes' }))).toMatchObject({
      code: 422,
      reason: 'Invalid',
      ...denied(name, why),
      details: {
        name: 'm',
        kind: 'configmaps',
        causes: [{ message: `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${why}` }],
      },
    })
    expect(await tryCreate(server, mapOf({ worse: '1' }))).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      ...denied(name, 'nothing worse, please'),
    })
    expect(await tryCreate(server, mapOf({ told: 'this' }))).toMatchObject({ code: 422, ...denied(name, 'not this') })
    expect((await tryCreate(server, mapOf({ good: 'yes' }))).code).toBe(201)
  })

  it('warns where a binding says so, and lets in', async () => {
    const name = await enforce(
      server,
      { validations: [{ expression: "!('bad' in object.data)", message: 'that is bad' }] },
      { validationActions: ['Warn', 'Audit'] },
    )
    const answer = await askUntil(
      () => tryCreate(server, mapOf({ bad: 'yes' })),
      ({ warning }) => warning !== undefined,
    )
    expect(answer).toMatchObject({
      code: 201,
      warning: `299 - "Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${name}': that is bad"`,
    })
  })

  it('judges only what its constraints, selectors and conditions name', async () => {
    await enforce(server, {
      matchConstraints: {
        ...everyConfigMap,
        objectSelector: { matchExpressions: [{ key: 'judged', operator: 'In', values: ['yes'] }] },
        excludeResourceRules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['*'],
            resources: ['configmaps'],
            resourceNames: ['excluded'],
          },
        ],
      },
      matchConditions: [{ name: 'not-by-name', expression: "object.metadata.name != 'left-out'" }],
      validations: [{ expression: 'false' }],
    })
    const labels = { judged: 'yes' }
    expect((await refusal(server, mapOf({}, { labels }))).code).toBe(422)
    expect((await tryCreate(server, mapOf({}))).code).toBe(201)
    expect((await tryCreate(server, mapOf({}, { name: 'left-out', labels }))).code).toBe(201)
    expect((await tryCreate(server, mapOf({}, { name: 'excluded', labels }))).code).toBe(201)
  })

  it('computes variables when they are needed, each from those before it', async () => {
    const name = await enforce(server, {
      variables: [
        { name: 'count', expression: 'size(object.data)' },
        { name: 'isMany', expression: 'variables.count > 2' },
        { name: 'broken', expression: "object.data['nobody'] == ''" },
      ],
      validations: [
        {
          expression: '!variables.isMany || variables.broken',
          messageExpression: "'there are ' + string(variables.count)",
        },
        { expression: 'variables.count != 2', messageExpression: "'there are ' + string(variables.count)" },
      ],
    })
    expect(await refusal(server, mapOf({ a: '1', b: '2' }))).toMatchObject(denied(name, 'there are 2'))
    expect((await tryCreate(server, mapOf({ a: '1' }))).code).toBe(201)
    expect(await tryCreate(server, mapOf({ a: '1', b: '2', c: '3' }))).toMatchObject(
      denied(
        name,
        'expression \'!variables.isMany || variables.broken\' resulted in error: composited variable "broken" fails to evaluate: no such key: nobody',
      ),
    )
  })

  it('knows the object before, the request, and the namespace', async () => {
    const name = await enforce(server, {
      validations: [
        { expression: "request.operation != 'UPDATE' || object.data.a == oldObject.data.a", message: 'a stays' },
        { expression: "request.operation != 'CREATE' || oldObject == null", message: 'a creation has none before' },
        {
          expression: "namespaceObject.metadata.name == request.namespace && request.resource.resource == 'configmaps'",
          message: 'another namespace',
        },
        { expression: "request.userInfo.groups.exists(g, g == 'system:authenticated')", message: 'nobody asks' },
        { expression: '!has(object.data.bad)', message: 'bad' },
      ],
    })
    expect(await refusal(server, mapOf({ bad: 'x' }))).toMatchObject(denied(name, 'bad'))
    expect((await server.http('POST', server.path('configmaps'), mapOf({ a: '1' }))).code).toBe(201)
    const changed = await server.patch(server.path('configmaps/m'), 'merge', { data: { a: '2' } })
    expect([changed.code, changed.body['message']]).toEqual([422, denied(name, 'a stays').message])
    expect((await server.patch(server.path('configmaps/m'), 'merge', { data: { b: '2' } })).code).toBe(200)
  })

  it('judges by parameters that a binding names, each by itself', async () => {
    await followParameters(server)
    const namespace = server.namespace
    const limits = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'limits' }, data: { most: '2' } }
    expect((await server.http('POST', server.path('configmaps'), limits)).code).toBe(201)
    const name = await enforce(
      server,
      {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        validations: [
          {
            expression: 'size(object.data) <= int(params.data.most)',
            messageExpression: "'at most ' + params.data.most",
          },
        ],
      },
      { paramRef: { name: 'limits', namespace, parameterNotFoundAction: 'Deny' } },
    )
    expect(await refusal(server, mapOf({ a: '1', b: '2', c: '3' }))).toMatchObject(denied(name, 'at most 2'))
    expect((await tryCreate(server, mapOf({ a: '1' }))).code).toBe(201)
    expect((await server.http('DELETE', server.path('configmaps/limits'))).code).toBe(200)
    const missing = await askUntil(
      () => tryCreate(server, mapOf({ a: '1' })),
      ({ code }) => code !== 201,
    )
    expect(missing).toMatchObject(
      denied(
        name,
        'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
      ),
    )
  })

  it('lets in what cannot be judged, where the policy says so', async () => {
    const validations = [
      { expression: "object.data['nobody'] == ''" },
      { expression: '!has(object.data.bad)', message: 'bad' },
    ]
    const name = await enforce(server, { failurePolicy: 'Ignore', validations })
    expect(await refusal(server, mapOf({ bad: 'x' }))).toMatchObject(denied(name, 'bad'))
    expect((await tryCreate(server, mapOf({ a: '1' }))).code).toBe(201)
  })

  it('judges deletions by what is deleted', async () => {
    const name = await enforce(server, {
      matchConstraints: {
        resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['DELETE'], resources: ['configmaps'] }],
      },
      validations: [{ expression: 'object == null && !has(oldObject.data.kept)', message: 'it is kept' }],
    })
    expect((await server.http('POST', server.path('configmaps'), mapOf({ kept: 'yes' }))).code).toBe(201)
    const answer = await askUntil(
      () => server.http('DELETE', `${server.path('configmaps/m')}?dryRun=All`),
      ({ code }) => code !== 200,
    )
    expect(answer.body).toMatchObject({ code: 422, ...denied(name, 'it is kept') })
  })

  it.each<[string, Fields, string[]]>([
    [
      'nothing',
      { matchConstraints: undefined, validations: [] },
      [
        'spec.matchConstraints: Required value',
        'spec.validations: Required value: validations or auditAnnotations must contain at least one item',
        'spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item',
      ],
    ],
    [
      'no rules',
      { matchConstraints: { resourceRules: [] }, validations: [{ expression: 'true' }] },
      ['spec.matchConstraints.resourceRules: Required value'],
    ],
    [
      'half a rule',
      { matchConstraints: { resourceRules: [{ resources: ['pods'] }] }, validations: [{ expression: 'true' }] },
      [
        'spec.matchConstraints.resourceRules[0].operations: Required value',
        'spec.matchConstraints.resourceRules[0].apiGroups: Required value',
        'spec.matchConstraints.resourceRules[0].apiVersions: Required value',
      ],
    ],
    [
      'an unknown name',
      { validations: [{ expression: 'obj.data == null' }] },
      [
        "spec.validations[0].expression: Invalid value: \"obj.data == null\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'obj' (in container '')\n | obj.data == null\n | ^",
      ],
    ],
    [
      'no truth',
      { validations: [{ expression: '1 + 1' }] },
      ['spec.validations[0].expression: Invalid value: "1 + 1": must evaluate to bool but got int'],
    ],
    [
      'no text',
      { validations: [{ expression: 'true', messageExpression: '1' }] },
      ['spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int'],
    ],
    [
      'an unknown variable',
      { validations: [{ expression: 'variables.nobody' }] },
      [
        "spec.validations[0].expression: Invalid value: \"variables.nobody\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.nobody\n | ^",
      ],
    ],
    [
      'an unknown policy for failures',
      { failurePolicy: 'Maybe', validations: [{ expression: 'true' }] },
      ['spec.failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"'],
    ],
    [
      'an unknown reason',
      { validations: [{ expression: 'true', reason: 'Teapot' }] },
      [
        'spec.validations[0].reason: Unsupported value: "Teapot": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
      ],
    ],
    [
      'no expression',
      { validations: [{ expression: ' ' }] },
      ['spec.validations[0].expression: Required value: expression is not specified'],
    ],
    [
      'params without a kind',
      { validations: [{ expression: 'params.data == null' }] },
      [
        "spec.validations[0].expression: Invalid value: \"params.data == null\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.data == null\n | ^",
      ],
    ],
  ])('refuses a policy with %s', async (_what, spec, faults) => {
    const { code, body } = await server.http('POST', policies, policyOf('refused', spec))
    expect(code).toBe(422)
    const { details } = body as { details?: { causes?: ReadonlyArray<{ field: string; message: string }> } }
    expect(details?.causes?.map(({ field, message }) => `${field}: ${message}`)).toEqual(faults)
  })

  it.each<[string, Fields, string[]]>([
    ['no policy', { policyName: undefined }, ['spec.policyName: Required value']],
    [
      'no action',
      { validationActions: [] },
      ['spec.validationActions: Required value: at least one validation action is required'],
    ],
    [
      'an unknown action',
      { validationActions: ['Shout'] },
      ['spec.validationActions[0]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"'],
    ],
    [
      'both ways to say it',
      { validationActions: ['Deny', 'Warn'] },
      [
        'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
      ],
    ],
    [
      'no parameters at all',
      { paramRef: { parameterNotFoundAction: 'Deny' } },
      ['spec.paramRef: Required value: one of name or selector must be specified'],
    ],
    [
      'nothing to do without parameters',
      { paramRef: { name: 'x' } },
      ['spec.paramRef.parameterNotFoundAction: Required value'],
    ],
  ])('refuses a binding with %s', async (_what, spec, faults) => {
    const { code, body } = await server.http('POST', bindings, bindingOf('refused', spec))
    expect(code).toBe(422)
    const { details } = body as { details?: { causes?: ReadonlyArray<{ field: string; message: string }> } }
    expect(details?.causes?.map(({ field, message }) => `${field}: ${message}`)).toEqual(faults)
  })

  it('shows policies and bindings as Kubernetes does, with their defaults', async () => {
    const name = await enforce(server, { validations: [{ expression: 'true' }] }, { validationActions: ['Audit'] })
    const [policy, binding] = [
      await server.http('GET', `${policies}/${name}`),
      await server.http('GET', `${bindings}/${name}`),
    ]
    expect(policy.body['spec']).toMatchObject({
      failurePolicy: 'Fail',
      matchConstraints: {
        matchPolicy: 'Equivalent',
        namespaceSelector: {},
        objectSelector: {},
        resourceRules: [{ scope: '*' }],
      },
    })
    expect(binding.body['spec']).toMatchObject({ matchResources: { matchPolicy: 'Equivalent', objectSelector: {} } })
    const table = await server.kubectl(`get validatingadmissionpolicies ${name}`)
    expect(table).toMatch(new RegExp(`^NAME +VALIDATIONS +PARAMKIND +AGE\\n${name} +1 +<unset> +\\S+\\n$`))
    const bound = await server.kubectl(`get validatingadmissionpolicybindings ${name}`)
    expect(bound).toMatch(new RegExp(`^NAME +POLICYNAME +PARAMREF +AGE\\n${name} +${name} +<unset> +\\S+\\n$`))
  })
})
