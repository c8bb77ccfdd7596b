import { type FieldError, duplicate, forbidden, invalid, mostFaults, required } from '../../resources/field-error.ts'
import type { CelValidation, StructuralSchema } from '../../resources/structural-schema.ts'
import { isJsonObject, sameJson } from '../../resources/json-value.ts'
import { correlate } from '../structural/validate.ts'
import { type CelProgram, RuleContext } from './cel-program.ts'
import { sizeOf } from './cel-cost.ts'
import type { Phases } from '../writing/write-phases.ts'

interface Rule {
  readonly validation: CelValidation
  readonly program: CelProgram
  readonly message: CelProgram | undefined
}

interface PlaceRules {
  readonly context: RuleContext
  readonly rules: readonly Rule[]
}

export const mostStepsOfRule = 4_000_000
export const mostStepsOfObject = 10_000_000
const longestMessage = 5120

/** The validation rules of a schema, compiled once and kept with the schema. */
export class SchemaRules {
  readonly #schema: StructuralSchema
  readonly #places = new Map<StructuralSchema, PlaceRules>()
  readonly #holds = new Map<StructuralSchema, boolean>()

  constructor(schema: StructuralSchema) {
    this.#schema = schema
  }

  get isEmpty(): boolean {
    return !this.#holdsRules(this.#schema)
  }

  /** Which rules an object breaks. Only for objects that are valid by their schema. */
  *check(object: unknown, previous: unknown): Phases<readonly FieldError[]> {
    const judgement: Judgement = { errors: [], stepsLeft: mostStepsOfObject }
    yield* this.#check(this.#schema, object, previous, '', judgement)
    return judgement.errors
  }

  *#check(
    schema: StructuralSchema,
    value: unknown,
    previous: unknown,
    path: string,
    judgement: Judgement,
  ): Phases<void> {
    if (value === null || value === undefined || isDone(judgement) || !this.#holdsRules(schema)) return
    yield* this.#checkHere(schema, value, previous, path, judgement)
    if (Array.isArray(value)) {
      const { items } = schema
      if (!items || !this.#holdsRules(items)) return
      const previousOf = correlate(schema, previous)
      for (const [index, item] of value.entries()) {
        yield* this.#check(items, item, previousOf(item), `${path}[${index}]`, judgement)
      }
      return
    }
    if (!isJsonObject(value)) return
    const { properties = {}, additionalProperties } = schema
    const before = isJsonObject(previous) ? previous : {}
    for (const field of Object.keys(value)) {
      const isNamed = Object.hasOwn(properties, field)
      const inner = isNamed ? properties[field] : additionalProperties
      if (typeof inner !== 'object') continue
      const at = isNamed ? (path === '' ? field : `${path}.${field}`) : `${path}[${field}]`
      yield* this.#check(inner, value[field], Object.hasOwn(before, field) ? before[field] : undefined, at, judgement)
    }
  }

  *#checkHere(
    schema: StructuralSchema,
    value: unknown,
    previous: unknown,
    path: string,
    judgement: Judgement,
  ): Phases<void> {
    if (!schema['x-kubernetes-validations']?.length) return
    const { context, rules } = this.#rulesOf(schema)
    const isUnchanged = previous !== undefined && sameJson(value, previous)
    // What an update leaves unchanged is only judged by rules about changes.
    const due = rules.filter(({ program, validation }) =>
      program.usesOldSelf ? previous !== undefined || validation.optionalOldSelf === true : !isUnchanged,
    )
    if (due.length === 0) return
    const self = context.value(value)
    const oldSelf = previous === undefined || previous === null ? undefined : context.value(previous)
    const size = sizeOf(previous === undefined ? value : [value, previous])
    for (const rule of due) {
      const steps = rule.program.steps(size) + (rule.message?.steps(size) ?? 0)
      judgement.stepsLeft -= steps
      if (steps > mostStepsOfRule || judgement.stepsLeft < 0) {
        judgement.stepsLeft = -1
        judgement.errors.push(outOfBudget(schema, rule.validation, path))
        return
      }
      const error = judge(rule, self, oldSelf, schema, path)
      if (error) judgement.errors.push(error)
      yield
    }
  }

  #rulesOf(schema: StructuralSchema): PlaceRules {
    const known = this.#places.get(schema)
    if (known) return known
    const context = new RuleContext(schema, schema === this.#schema)
    const rules = (schema['x-kubernetes-validations'] ?? []).map((validation) => ({
      validation,
      program: context.compile(validation.rule, 'bool', validation.optionalOldSelf),
      message: validation.messageExpression
        ? context.compile(validation.messageExpression, 'string', validation.optionalOldSelf)
        : undefined,
    }))
    const made = { context, rules }
    this.#places.set(schema, made)
    return made
  }

  /** Whether there are rules here or below: most of a schema has none and need not be walked. */
  #holdsRules(schema: StructuralSchema): boolean {
    const known = this.#holds.get(schema)
    if (known !== undefined) return known
    this.#holds.set(schema, false)
    const { properties = {}, additionalProperties, items } = schema
    const inner = [...Object.values(properties), additionalProperties, items]
    const holds =
      Boolean(schema['x-kubernetes-validations']?.length) ||
      inner.some((part) => typeof part === 'object' && this.#holdsRules(part))
    this.#holds.set(schema, holds)
    return holds
  }
}

interface Judgement {
  readonly errors: FieldError[]
  stepsLeft: number
}

/** Whether to stop: the steps are used up, or enough rules are broken. */
function isDone({ stepsLeft, errors }: Judgement): boolean {
  return stepsLeft < 0 || errors.length >= mostFaults
}

function judge(
  { validation, program, message }: Rule,
  self: unknown,
  oldSelf: unknown,
  schema: StructuralSchema,
  path: string,
): FieldError | undefined {
  const { rule } = validation
  const field = fieldAt(path, '')
  let holds: unknown
  try {
    holds = program.evaluate(self, oldSelf)
  } catch (error) {
    return invalid(field, schema.type ?? '', `${evaluationProblem(error)} evaluating rule: ${rule}`)
  }
  if (holds === true) return undefined
  const why = messageOf(message, self, oldSelf) ?? validation.message ?? `failed rule: ${rule}`
  return refusal(validation.reason, fieldAt(path, validation.fieldPath ?? ''), schema.type ?? '', why)
}

function messageOf(message: CelProgram | undefined, self: unknown, oldSelf: unknown): string | undefined {
  if (!message) return undefined
  try {
    const text = String(message.evaluate(self, oldSelf)).trim()
    return text === '' || text.includes('\n') || text.length > longestMessage ? undefined : text
  } catch {
    // A message that cannot be computed must not hide that the rule is broken: the fixed one is used.
    return undefined
  }
}

/** In the words of Kubernetes' own implementation. */
export function evaluationProblem(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const summary: unknown = Reflect.get(error, 'summary')
  const text = typeof summary === 'string' ? summary : error.message
  const [, outOfRange] = /index out of bounds, index (-?\d+)/.exec(text) ?? []
  if (outOfRange !== undefined) return `index out of bounds: ${outOfRange}`
  return text.replace(/^No such key/, 'no such key')
}

function refusal(reason: CelValidation['reason'], field: string, type: string, why: string): FieldError {
  switch (reason) {
    case 'FieldValueForbidden':
      return forbidden(field, why)
    case 'FieldValueRequired':
      return required(field, why)
    case 'FieldValueDuplicate':
      return duplicate(field, type)
    default:
      return invalid(field, type, why)
  }
}

function outOfBudget(schema: StructuralSchema, { rule }: CelValidation, path: string): FieldError {
  const why = `'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`
  return invalid(fieldAt(path, ''), schema.type ?? '', why)
}

/** The whole object has no path; Kubernetes writes `<nil>`. */
function fieldAt(path: string, fieldPath: string): string {
  const whole = path === '' ? fieldPath.replace(/^\./, '') : path + fieldPath
  return whole === '' ? '<nil>' : whole.replaceAll(/\['([^']*)'\]/g, '[$1]')
}
