import * as fc from 'fast-check'
import type { StructuralSchema } from '../../resources/structural-schema.ts'

const names = ['a', 'b', 'c', 'constructor', '__proto__', 'a.b']
const fieldName = fc.constantFrom(...names)

/** Schemas as definitions have them, with and without defaults. */
export const anySchema: fc.Arbitrary<StructuralSchema> = fc.letrec<{ schema: StructuralSchema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'schema' },
    scalar({ type: 'string' }, fc.string()),
    scalar({ type: 'integer' }, fc.integer()),
    scalar({ type: 'boolean' }, fc.boolean()),
    fc.record({ type: fc.constant('array' as const), items: tie('schema') }),
    fc.record({ type: fc.constant('object' as const), additionalProperties: tie('schema') }),
    fc.record(
      {
        type: fc.constant('object' as const),
        properties: fc.dictionary(fieldName, tie('schema'), { maxKeys: 4, noNullPrototype: true }),
        nullable: fc.boolean(),
        'x-kubernetes-preserve-unknown-fields': fc.constant(true),
        default: fc.constant({}),
      },
      { requiredKeys: ['type', 'properties'] },
    ),
  ),
})).schema

function scalar(schema: StructuralSchema, value: fc.Arbitrary<unknown>): fc.Arbitrary<StructuralSchema> {
  const optional = fc.record({ nullable: fc.boolean(), default: value }, { requiredKeys: [] })
  return optional.map((further) => ({ ...schema, ...further }))
}

/** Values made of the same few names as the schemas, so that they meet. */
export const anyValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthIdentifier: 'value' },
    fc.constantFrom<unknown>(null, true, 0, 1.5, 'text', ''),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(fieldName, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value
