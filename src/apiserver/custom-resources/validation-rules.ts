import { type FieldError, invalid, required, unsupported } from '../../resources/field-error.ts'
import type { CelValidation, StructuralSchema } from '../../resources/structural-schema.ts'
import { CelError } from '../cel/cel-errors.ts'
import { type CelProgram, RuleContext } from '../cel/cel-program.ts'
import { ErrorList } from '../structural/error-list.ts'
import { Pace, type Phases } from '../writing/write-phases.ts'

type Add = (...errors: readonly FieldError[]) => void

interface Place {
  readonly path: string
  readonly isRoot: boolean
  /** The list around this place whose items cannot be matched across an update, if there is one. */
  readonly uncorrelated: string | undefined
}

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']
const longestMessage = 2048

/** What is wrong with the rules of a schema: first their own fields, then whether each compiles against the schema. */
export function* checkValidations(schema: StructuralSchema, path: string): Phases<FieldError[]> {
  const root: Place = { path, isRoot: true, uncorrelated: undefined }
  const pace = new Pace()
  const words = new ErrorList()
  for (const judged of ruledSchemas(schema, root, pace)) {
    if (judged === undefined) yield
    else checkWords(judged.schema, judged.place, (...found) => words.add(...found))
  }
  if (words.all.length > 0) return [...words.all]
  const errors = new ErrorList()
  for (const judged of ruledSchemas(schema, root, pace)) {
    if (judged === undefined) yield
    else if (!errors.isFull) yield* checkPrograms(judged.schema, judged.place, (...found) => errors.add(...found))
  }
  return [...errors.all]
}

interface Ruled {
  readonly schema: StructuralSchema
  readonly place: Place
}

/** The schemas that have rules, in order; yields nothing where others may have their turn. */
function* ruledSchemas(schema: StructuralSchema, place: Place, pace: Pace): Generator<Ruled | undefined, void> {
  if (pace.isDue()) yield undefined
  if (schema['x-kubernetes-validations']?.length) yield { schema, place }
  const { path, uncorrelated } = place
  const { properties = {}, additionalProperties, items } = schema
  for (const [field, inner] of Object.entries(properties)) {
    if (pace.isDue()) yield undefined
    if (!mayHaveRules(inner)) continue
    yield* ruledSchemas(inner, { path: `${path}.properties[${field}]`, isRoot: false, uncorrelated }, pace)
  }
  if (typeof additionalProperties === 'object') {
    const inside = { path: `${path}.additionalProperties`, isRoot: false, uncorrelated }
    yield* ruledSchemas(additionalProperties, inside, pace)
  }
  if (items) {
    const told = schema['x-kubernetes-list-type'] === 'map'
    const inside = uncorrelated ?? (told ? undefined : path)
    yield* ruledSchemas(items, { path: `${path}.items`, isRoot: false, uncorrelated: inside }, pace)
  }
}

function mayHaveRules(schema: StructuralSchema): boolean {
  const { properties, additionalProperties, items } = schema
  return Boolean(properties || additionalProperties || items || schema['x-kubernetes-validations'])
}

/** Compiling one rule takes as long as looking at very many fields. */
function* checkPrograms(schema: StructuralSchema, place: Place, add: Add): Phases<void> {
  const context = new RuleContext(schema, place.isRoot)
  for (const [index, validation] of (schema['x-kubernetes-validations'] ?? []).entries()) {
    const path = `${place.path}.x-kubernetes-validations[${index}]`
    yield
    checkRule(context, validation, path, place, add)
    checkMessageExpression(context, validation, path, add)
  }
}

function checkWords(schema: StructuralSchema, place: Place, add: Add): void {
  for (const [index, validation] of (schema['x-kubernetes-validations'] ?? []).entries()) {
    checkWordsOf(schema, validation, `${place.path}.x-kubernetes-validations[${index}]`, add)
  }
}

function checkWordsOf(schema: StructuralSchema, validation: CelValidation, path: string, add: Add): void {
  if (validation.rule.trim() === '') add(required(`${path}.rule`, 'rule is not specified'))
  const { message, reason, fieldPath } = validation
  if (message !== undefined && message !== '') {
    if (message.trim() === '') add(invalid(`${path}.message`, message, 'must be non-empty if specified'))
    else if (/[\r\n]/.test(message)) add(invalid(`${path}.message`, message, 'must not contain line breaks'))
    else if (message.length > longestMessage) {
      add(
        invalid(
          `${path}.message`,
          `${message.slice(0, 10)}...`,
          `must have a maximum length of ${longestMessage} characters`,
        ),
      )
    }
  }
  if (reason !== undefined && !reasons.includes(reason)) add(unsupported(`${path}.reason`, reason, reasons))
  if (fieldPath !== undefined && fieldPath !== '' && !leadsSomewhere(schema, fieldPath)) {
    add(invalid(`${path}.fieldPath`, fieldPath, 'must be a valid path'))
  }
}

function checkRule(context: RuleContext, validation: CelValidation, path: string, place: Place, add: Add): void {
  const { rule, optionalOldSelf } = validation
  const program = tryCompile(
    () => context.compile(rule, 'bool', optionalOldSelf),
    (why) => add(invalid(`${path}.rule`, shownRule(validation), why)),
  )
  if (!program) return
  if (program.usesOldSelf && place.uncorrelated !== undefined) {
    const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelated}`
    add(invalid(`${path}.rule`, rule, why))
  }
  if (optionalOldSelf !== undefined && !program.usesOldSelf) {
    add(invalid(`${path}.optionalOldSelf`, optionalOldSelf, 'may not be set if oldSelf is not used in rule'))
  }
}

function checkMessageExpression(context: RuleContext, validation: CelValidation, path: string, add: Add): void {
  const { messageExpression, optionalOldSelf } = validation
  if (messageExpression === undefined || messageExpression === '') return
  tryCompile(
    () => context.compile(messageExpression, 'string', optionalOldSelf),
    (why) => add(invalid(`${path}.messageExpression`, shownRule(validation), `messageExpression ${why}`)),
  )
}

function tryCompile(compile: () => CelProgram, refuse: (why: string) => void): CelProgram | undefined {
  try {
    return compile()
  } catch (error) {
    if (!(error instanceof CelError)) throw error
    refuse(error.message)
    return undefined
  }
}

/** A rule as Go prints it in the API server's messages. */
function shownRule(validation: CelValidation): unknown {
  const { rule, message, messageExpression, reason, fieldPath, optionalOldSelf } = validation
  return {
    Rule: rule,
    Message: message ?? '',
    MessageExpression: messageExpression ?? '',
    Reason: reason ?? null,
    FieldPath: fieldPath ?? '',
    OptionalOldSelf: optionalOldSelf ?? null,
  }
}

/** Whether a path such as `.spec.minReplicas` or `.labels['a.b']` names a field of the schema. */
function leadsSomewhere(schema: StructuralSchema, fieldPath: string): boolean {
  let current: StructuralSchema | undefined = schema
  let rest = fieldPath
  while (rest !== '') {
    const match = /^(?:\.([A-Za-z_][A-Za-z0-9_]*)|\['((?:[^'\\]|\\.)*)'\])/.exec(rest)
    if (!match || !current) return false
    const field: string = match[1] ?? match[2]?.replaceAll(/\\(.)/g, '$1') ?? ''
    const { properties, additionalProperties }: StructuralSchema = current
    if (properties && Object.hasOwn(properties, field)) current = properties[field]
    else current = typeof additionalProperties === 'object' ? additionalProperties : undefined
    rest = rest.slice(match[0].length)
  }
  return current !== undefined
}
