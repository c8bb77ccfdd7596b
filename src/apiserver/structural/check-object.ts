import { type FieldError, invalid } from '../../resources/field-error.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { SchemaRules } from '../cel/schema-rules.ts'
import type { Phases } from '../writing/write-phases.ts'
import { validate } from './validate.ts'

/** Errors that leave a value in a form the rules do not expect. */
const blocking = new Set<FieldError['reason']>([
  'FieldValueRequired',
  'FieldValueTypeInvalid',
  'FieldValueTooLong',
  'FieldValueTooMany',
])
const notJudged =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation'

const rulesOfSchemas = new WeakMap<StructuralSchema, SchemaRules>()

/** What is wrong with an object by its schema, and by the schema's rules if the object is fit to be judged by them. */
export function* checkObject(
  schema: StructuralSchema,
  object: unknown,
  previous?: unknown,
): Phases<readonly FieldError[]> {
  const errors = validate(schema, object, previous)
  const rules = rulesOf(schema)
  if (rules.isEmpty) return errors
  if (errors.some(({ reason }) => blocking.has(reason))) return [...errors, invalid('<nil>', null, notJudged)]
  yield
  return [...errors, ...(yield* rules.check(object, previous))]
}

function rulesOf(schema: StructuralSchema): SchemaRules {
  const known = rulesOfSchemas.get(schema)
  if (known) return known
  const made = new SchemaRules(schema)
  rulesOfSchemas.set(schema, made)
  return made
}
