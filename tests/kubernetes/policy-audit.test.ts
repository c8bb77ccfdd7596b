import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { askUntil } from './ask-until.ts'
import { onEachServer } from './on-each-server.ts'
import { type Fields, enforce, policies, policyOf, refusedBy, removePoliciesAfterEach } from './policy-stage.ts'

removePoliciesAfterEach()

const failureKey = 'validation.policy.admission.k8s.io/validation_failure'
const field = 'spec.auditAnnotations[0]'
const form =
  "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const mapOf = (data: Fields) => ({ metadata: { name: 'm' }, data })

onEachServer((server) => {
  /** What the audit line of a write says beyond who may and where: asked until a policy has added something. */
  const annotationsOf = (object: Fields): Promise<Record<string, string>> =>
    askUntil(
      async () => {
        const id = randomUUID()
        await server.http('POST', `${server.path('configmaps')}?dryRun=All`, object, { headers: { 'audit-id': id } })
        const [line = '{}'] = await askUntil(
          async () =>
            readFileSync(server.address.auditLog ?? '', 'utf8')
              .split('\n')
              .filter((text) => text.includes(id)),
          (lines) => lines.length > 0,
        )
        const { annotations = {} } = JSON.parse(line) as { annotations?: Record<string, string> }
        const added = Object.entries(annotations).filter(
          ([key]) => !/^(authorization\.k8s\.io|sluice\.dev)\//.test(key),
        )
        return Object.fromEntries(added)
      },
      (annotations) => Object.keys(annotations).length > 0,
    )

  describe('the audit line of a write', () => {
    it('has what policies say about it', async () => {
      const name = await enforce(
        server,
        {
          auditAnnotations: [
            { key: 'entries', valueExpression: "'  has ' + string(size(object.data)) + ' '" },
            { key: 'empty', valueExpression: "object.data.size() > 5 ? 'many' : ''" },
          ],
        },
        { validationActions: ['Audit'] },
      )
      expect(await annotationsOf(mapOf({ a: '1', b: '2' }))).toEqual({ [`${name}/entries`]: 'has 2' })
    })

    it('has which policy it breaks, where a binding only wants that', async () => {
      const name = await enforce(
        server,
        { validations: [{ expression: 'true' }, { expression: '!has(object.data.bad)', message: 'that is bad' }] },
        { validationActions: ['Audit'] },
      )
      const annotations = await annotationsOf(mapOf({ bad: 'x' }))
      expect(Object.keys(annotations)).toEqual([failureKey])
      expect(JSON.parse(annotations[failureKey] ?? '')).toEqual([
        { message: 'that is bad', policy: name, binding: name, expressionIndex: 1, validationActions: ['Audit'] },
      ])
    })

    it('has what a policy says also where it refuses', async () => {
      const name = await enforce(
        server,
        {
          validations: [{ expression: "object.data.a != '1'" }, { expression: '!has(object.data.bad)' }],
          auditAnnotations: [{ key: 'seen', valueExpression: "'a ' + object.data.a" }],
        },
        { validationActions: ['Deny', 'Audit'] },
      )
      const annotations = await annotationsOf(mapOf({ a: '1', bad: 'x' }))
      expect(annotations[`${name}/seen`]).toBe('a 1')
      expect(JSON.parse(annotations[failureKey] ?? '')).toEqual([
        {
          message: "failed expression: object.data.a != '1'",
          policy: name,
          binding: name,
          expressionIndex: 0,
          validationActions: ['Deny', 'Audit'],
        },
      ])
    })

    it('may be what a write fails by', async () => {
      const auditAnnotations = [{ key: 'seen', valueExpression: "string(object.data['nobody'])" }]
      const name = await enforce(server, { auditAnnotations }, { validationActions: ['Deny'] })
      const answer = await askUntil(
        () => server.http('POST', `${server.path('configmaps')}?dryRun=All`, mapOf({ a: '1' })),
        ({ code }) => code !== 201,
      )
      expect([answer.code, answer.body['message']]).toEqual([
        422,
        refusedBy(
          name,
          'configmaps "m"',
          "expression 'string(object.data['nobody'])' resulted in error: no such key: nobody",
        ),
      ])
    })
  })

  it.each<[string, Fields, string[]]>([
    [
      'no text',
      { key: 'a', valueExpression: '1' },
      [`${field}.valueExpression: Invalid value: "1": must evaluate to one of [string null_type] but got int`],
    ],
    [
      'anything',
      { key: 'a', valueExpression: 'object.data.a' },
      [
        `${field}.valueExpression: Invalid value: "object.data.a": must evaluate to one of [string null_type] but got dyn`,
      ],
    ],
    [
      'nothing',
      { key: '', valueExpression: ' ' },
      [
        `${field}.key: Invalid value: "refused/": name part must be non-empty`,
        `${field}.key: Invalid value: "refused/": name part must ${form}`,
        `${field}.valueExpression: Required value: valueExpression is not specified`,
      ],
    ],
    [
      'of an odd key',
      { key: 'a/b/c', valueExpression: "'x'" },
      [
        `${field}.key: Invalid value: "refused/a/b/c": a qualified name must ${form} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
      ],
    ],
  ])('refuses a policy whose audit annotation is %s', async (_what, annotation, faults) => {
    const { code, body } = await server.http('POST', policies, policyOf('refused', { auditAnnotations: [annotation] }))
    expect(code).toBe(422)
    const { details } = body as { details?: { causes?: ReadonlyArray<{ field: string; message: string }> } }
    expect(details?.causes?.map(({ field, message }) => `${field}: ${message}`)).toEqual(faults)
  })
})
