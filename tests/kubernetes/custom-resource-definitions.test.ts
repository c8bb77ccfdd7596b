import { describe, expect, it } from 'vitest'
import { askUntil } from './ask-until.ts'
import { onEachServer } from './on-each-server.ts'
import { WidgetDefinition, causesOf, count, definitionsPath, rules, schemaOf, text } from './widget-definition.ts'

onEachServer((server) => {
  const definition = new WidgetDefinition(server)
  const path = definition.path.bind(definition)

  describe('a definition', () => {
    const at = 'spec.validation.openAPIV3Schema.properties[spec].properties'
    const refusedFields: Array<[unknown, string[]]> = [
      [{ a: {} }, [`${at}[a].type FieldValueRequired`]],
      [{ a: { type: 'foo' } }, [`${at}[a].type FieldValueNotSupported`]],
      [{ a: { type: 'array' } }, [`${at}[a].items FieldValueRequired`]],
      [{ a: { type: 'array', items: {} } }, [`${at}[a].items.type FieldValueRequired`]],
      [{ a: { type: 'array', items: text, uniqueItems: true } }, [`${at}[a].uniqueItems FieldValueForbidden`]],
      [
        { a: { type: 'object', properties: { x: text }, additionalProperties: text } },
        [`${at}[a].additionalProperties FieldValueForbidden`],
      ],
      [{ a: { ...text, pattern: '(?=a)b' } }, [`${at}[a].pattern FieldValueInvalid`]],
      [{ a: { ...text, pattern: '(a' } }, [`${at}[a].pattern FieldValueInvalid`]],
      [{ a: { $ref: '#/x' } }, [`${at}[a].$ref FieldValueForbidden`]],
      [{ a: { ...count, default: 'x' } }, [`${at}[a].default FieldValueTypeInvalid`]],
      [{ a: { ...count, minimum: 3, default: 1 } }, [`${at}[a].default FieldValueInvalid`]],
      [{ a: { type: 'object', default: { q: 1 } } }, [`${at}[a].default FieldValueInvalid`]],
      [
        { a: { ...count, anyOf: [{ default: 3 }, { type: 'integer' }] } },
        [`${at}[a].anyOf[0].default FieldValueForbidden`, `${at}[a].anyOf[1].type FieldValueForbidden`],
      ],
      [
        { a: { type: 'array', items: { type: 'object', properties: { k: text } }, 'x-kubernetes-list-type': 'map' } },
        [`${at}[a].x-kubernetes-list-map-keys FieldValueRequired`],
      ],
      [
        {
          a: {
            type: 'array',
            items: { type: 'object', properties: { k: text } },
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['k', 'z'],
          },
        },
        [
          `${at}[a].items.properties[k].default FieldValueRequired`,
          `${at}[a].x-kubernetes-list-map-keys FieldValueInvalid`,
        ],
      ],
      [
        { a: { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'set' } },
        [`${at}[a].items.x-kubernetes-map-type FieldValueInvalid`],
      ],
      [
        { a: { type: 'object', 'x-kubernetes-preserve-unknown-fields': false } },
        [`${at}[a].x-kubernetes-preserve-unknown-fields FieldValueInvalid`],
      ],
      [{ a: { type: 'object', 'x-kubernetes-embedded-resource': true } }, [`${at}[a].properties FieldValueRequired`]],
      ...[
        'self ==',
        'self > 3',
        'self',
        'other > 1',
        'self.bogus()',
        'cel.bind(x, self, x == x)',
        "self.matches('(?=a)')",
        "self.matches('(a')",
      ].map((rule): [unknown, string[]] => [
        { a: { ...text, ...rules({ rule }) } },
        [`${at}[a].x-kubernetes-validations[0].rule FieldValueInvalid`],
      ]),
      [{ a: { ...text, ...rules({ rule: ' ' }) } }, [`${at}[a].x-kubernetes-validations[0].rule FieldValueRequired`]],
      [
        { a: { ...text, ...rules({ rule: 'true', message: 'a\nb' }) } },
        [`${at}[a].x-kubernetes-validations[0].message FieldValueInvalid`],
      ],
      [
        { a: { ...text, ...rules({ rule: 'true', reason: 'Foo' }) } },
        [`${at}[a].x-kubernetes-validations[0].reason FieldValueNotSupported`],
      ],
      [
        { a: { ...text, ...rules({ rule: 'true', messageExpression: '1' }) } },
        [`${at}[a].x-kubernetes-validations[0].messageExpression FieldValueInvalid`],
      ],
      [
        { a: { ...text, ...rules({ rule: "self == ''", optionalOldSelf: true }) } },
        [`${at}[a].x-kubernetes-validations[0].optionalOldSelf FieldValueInvalid`],
      ],
      [
        { a: { type: 'object', properties: { x: text }, ...rules({ rule: 'true', fieldPath: '.y' }) } },
        [`${at}[a].x-kubernetes-validations[0].fieldPath FieldValueInvalid`],
      ],
      [
        { a: { type: 'object', properties: { x: text }, ...rules({ rule: 'self.y == 1' }) } },
        [`${at}[a].x-kubernetes-validations[0].rule FieldValueInvalid`],
      ],
      [
        { a: { type: 'object', properties: { x: text }, ...rules({ rule: '!has(self.y)' }) } },
        [`${at}[a].x-kubernetes-validations[0].rule FieldValueInvalid`],
      ],
      [
        { a: { type: 'array', maxItems: 5, items: { ...text, maxLength: 5, ...rules({ rule: 'self == oldSelf' }) } } },
        [`${at}[a].items.x-kubernetes-validations[0].rule FieldValueInvalid`],
      ],
    ]

    it.each(refusedFields)('is refused for the fields %j', async (fields, faults) => {
      const manifest = definition.manifest(fields as Record<string, unknown>)
      const { code, body } = await server.http('POST', `${definitionsPath}?dryRun=All`, manifest)
      expect([code, body.reason]).toEqual([422, 'Invalid'])
      expect(causesOf(body).map((cause) => cause.split(' ').slice(0, 2).join(' '))).toEqual(faults)
    })

    const version = { name: 'v1', served: true, storage: true, ...schemaOf({}) }
    const refusedSpecs: Array<[Record<string, unknown>, string[]]> = [
      [{ group: 'example' }, ['metadata.name FieldValueInvalid', 'spec.group FieldValueInvalid']],
      [{ group: '' }, ['metadata.name FieldValueInvalid', 'spec.group FieldValueRequired']],
      [{ scope: 'Galaxy' }, ['spec.scope FieldValueNotSupported']],
      [{ names: { plural: 'widgets', kind: 'Widget', listKind: 'Widget' } }, ['spec.names.listKind FieldValueInvalid']],
      [
        { names: { plural: 'widgets', kind: 'Widget', shortNames: ['A'] } },
        ['spec.names.shortNames[0] FieldValueInvalid'],
      ],
      [{ names: { plural: 'gadgets', kind: 'Widget' } }, ['metadata.name FieldValueInvalid']],
      [
        { names: { plural: 'widgets' } },
        [
          'spec.names.kind FieldValueRequired',
          'spec.names.listKind FieldValueRequired',
          'spec.names.singular FieldValueRequired',
        ],
      ],
      [
        { versions: [{ ...version, schema: undefined }] },
        ['spec.versions[0].schema.openAPIV3Schema FieldValueRequired'],
      ],
      [{ versions: [version, { ...version, storage: false }] }, ['spec.versions FieldValueInvalid']],
      [
        { versions: [{ ...version, schema: { openAPIV3Schema: { type: 'string' } } }] },
        ['spec.validation.openAPIV3Schema.type FieldValueInvalid'],
      ],
      [{ preserveUnknownFields: true }, ['spec.preserveUnknownFields FieldValueInvalid']],
      [{ conversion: { strategy: 'Magic' } }, ['spec.conversion.strategy FieldValueNotSupported']],
      [
        { versions: [{ ...version, additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: 'a' }] }] },
        ['spec.additionalPrinterColumns[0].JSONPath FieldValueInvalid'],
      ],
      [
        { versions: [{ ...version, additionalPrinterColumns: [{ name: 'A', type: 'x', jsonPath: '.a' }] }] },
        ['spec.additionalPrinterColumns[0].type FieldValueInvalid'],
      ],
      [
        {
          versions: [
            { ...version, subresources: { scale: { specReplicasPath: '.status.r', statusReplicasPath: '.status.r' } } },
          ],
        },
        ['spec.subresources.scale.specReplicasPath FieldValueInvalid'],
      ],
      [
        { versions: [version, { ...version, name: 'v2', storage: false, ...schemaOf({ spec: {} }) }] },
        ['spec.versions[1].schema.openAPIV3Schema.properties[spec].type FieldValueRequired'],
      ],
    ]

    it.each(refusedSpecs)('is refused for %j', async (spec, faults) => {
      const { code, body } = await server.http(
        'POST',
        `${definitionsPath}?dryRun=All`,
        definition.manifest({}, {}, spec),
      )
      expect([code, body.reason]).toEqual([422, 'Invalid'])
      expect(causesOf(body).map((cause) => cause.split(' ').slice(0, 2).join(' '))).toEqual(faults)
    })

    it('converts no versions by a webhook', async () => {
      const clientConfig = { url: 'https://example.com/convert', caBundle: '' }
      const conversion = { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } }
      const { code, body } = await server.http(
        'POST',
        `${definitionsPath}?dryRun=All`,
        definition.manifest({}, {}, { conversion }),
      )
      const refused = [
        'spec.conversion.strategy FieldValueForbidden Forbidden: this cluster converts versions only by the strategy None',
      ]
      expect([code, causesOf(body)]).toEqual(server.differs('conversion webhooks') ? [422, refused] : [201, []])
    })

    it('is judged by the cost of its rules, or its objects are', async () => {
      const nested = { type: 'array', items: { type: 'array', items: text } }
      const rule = 'self.all(x, x.all(y, self.all(z, z.all(w, w == y))))'
      const manifest = definition.manifest({ a: { ...nested, ...rules({ rule }) } })
      const defined = await server.http('POST', definitionsPath, manifest)
      expect(defined.code).toBe(server.differs('cost of rules') ? 201 : 422)
      if (defined.code === 422) return
      const a = Array.from({ length: 60 }, () => Array.from({ length: 60 }, () => 'x'))
      const answer = await server.http('POST', path(), definition.widget('w', { spec: { a } }))
      expect(causesOf(answer.body)).toEqual([
        expect.stringContaining('no further validation rules will be run due to call cost exceeds limit'),
      ])
    })

    it.each(['isIP(self)', '!format.dns1123Label().validate(self).hasValue()', '[1].all(i, v, v > 0)'])(
      'may use %s, or not',
      async (rule) => {
        const manifest = definition.manifest({ a: { ...text, maxLength: 10, ...rules({ rule }) } })
        const { code } = await server.http('POST', `${definitionsPath}?dryRun=All`, manifest)
        expect(code).toBe(server.differs('functions of rules') ? 422 : 201)
      },
    )

    it('is refused in a group of Kubernetes’ own without approval', async () => {
      const manifest = definition.manifest({}, {}, { group: 'x.k8s.io' })
      const { body } = await server.http('POST', `${definitionsPath}?dryRun=All`, {
        ...manifest,
        metadata: { name: 'widgets.x.k8s.io' },
      })
      expect(causesOf(body)).toEqual([
        expect.stringMatching(/^metadata\.annotations\[api-approved\.kubernetes\.io\] FieldValueRequired/),
      ])
    })

    it('is refused a name that another of its group has', async () => {
      await definition.serve(definition.manifest({}))
      const other = {
        ...definition.manifest({}, {}, {}, { plural: 'gadgets' }),
        metadata: { name: `gadgets.${definition.group}` },
      }
      await server.ok('POST', definitionsPath, other)
      const judged = await askUntil(
        () => server.ok('GET', `${definitionsPath}/gadgets.${definition.group}`),
        ({ status }) => Boolean((status as { conditions?: unknown[] }).conditions?.length),
      )
      expect(judged['status']).toMatchObject({
        conditions: expect.arrayContaining([
          expect.objectContaining({
            type: 'NamesAccepted',
            status: 'False',
            message: expect.stringContaining('already in use'),
          }),
        ]),
      })
      expect((await server.http('GET', server.path('gadgets', `${definition.group}/v1`))).code).toBe(404)
    })
  })
})
