import {
  type FieldError,
  duplicate,
  faultsOfEach,
  invalid,
  required,
  tooLong,
  tooMany,
  unsupported,
} from '../field-error.ts'
import { type Json, fieldIn, isObject, listIn, numberIn, objectIn, textIn } from './json-access.ts'
import { checkNotNegative, checkQualifiedName } from './name-syntax.ts'

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore']
const operators = ['In', 'NotIn']
const statuses = ['False', 'True', 'Unknown']
const mostRules = 20
const mostExitCodes = 255
const mostConditions = 20
const longestIndexes = 64 * 1024
const mostFailedIndexes = 100_000
/**
 * A Job with more completions than this must say how many indexes may fail, and keep both that and its parallelism
 * lower.
 */
const manyCompletions = 100_000
const mostAmongMany = 10_000

/** The rules about when a Job ends, beyond the number of failed Pods. */
export function checkJobPolicies(spec: Json): FieldError[] {
  return [
    ...checkFailuresPerIndex(spec),
    ...checkFailurePolicy(spec),
    ...checkSuccessPolicy(spec),
    ...checkReplacementPolicy(spec),
  ]
}

function checkFailuresPerIndex(spec: Json): FieldError[] {
  const perIndex = numberIn(spec, 'backoffLimitPerIndex')
  const most = numberIn(spec, 'maxFailedIndexes')
  const completions = numberIn(spec, 'completions')
  const errors = [
    ...checkNotNegative('spec.backoffLimitPerIndex', perIndex),
    ...checkNotNegative('spec.maxFailedIndexes', most),
  ]
  if (most !== undefined && perIndex === undefined) {
    errors.push(required('spec.backoffLimitPerIndex', 'when maxFailedIndexes is specified'))
  }
  if (textIn(spec, 'completionMode') !== 'Indexed') {
    const why = 'requires indexed completion mode'
    if (perIndex !== undefined) errors.push(invalid('spec.backoffLimitPerIndex', perIndex, why))
    if (most !== undefined) errors.push(invalid('spec.maxFailedIndexes', most, why))
    return errors
  }
  if (most !== undefined && most > (completions ?? Infinity)) {
    errors.push(invalid('spec.maxFailedIndexes', most, 'must be less than or equal to completions'))
  }
  if (most !== undefined && most > mostFailedIndexes) {
    errors.push(invalid('spec.maxFailedIndexes', most, `must be less than or equal to ${mostFailedIndexes}`))
  }
  if (perIndex !== undefined && (completions ?? 0) > manyCompletions) errors.push(...checkAmongMany(spec, most))
  return errors
}

function checkAmongMany(spec: Json, most: number | undefined): FieldError[] {
  const parallelism = numberIn(spec, 'parallelism') ?? 0
  const why = `must be less than or equal to ${mostAmongMany} when completions are above ${manyCompletions} and used with backoff limit per index`
  const errors: FieldError[] = []
  if (most === undefined) {
    errors.push(required('spec.maxFailedIndexes', `must be specified when completions is above ${manyCompletions}`))
  }
  if (parallelism > mostAmongMany) errors.push(invalid('spec.parallelism', parallelism, why))
  if (most !== undefined && most > mostAmongMany) errors.push(invalid('spec.maxFailedIndexes', most, why))
  return errors
}

function checkFailurePolicy(spec: Json): FieldError[] {
  const policy = objectIn(spec, 'podFailurePolicy')
  if (!policy) return []
  const rules = listIn(policy, 'rules')
  const field = 'spec.podFailurePolicy.rules'
  const podSpec = objectIn(objectIn(spec, 'template'), 'spec')
  const containers = new Set(
    [...listIn(podSpec, 'containers'), ...listIn(podSpec, 'initContainers')].map((each) => textIn(each, 'name')),
  )
  const errors = rules.length > mostRules ? [tooMany(field, rules.length, mostRules)] : []
  const restartPolicy = textIn(podSpec, 'restartPolicy')
  if (restartPolicy === 'OnFailure') {
    const why = 'only "Never" is supported when podFailurePolicy is specified'
    errors.push(invalid('spec.template.spec.restartPolicy', restartPolicy, why))
  }
  const isPerIndex = numberIn(spec, 'backoffLimitPerIndex') !== undefined
  const ofEach = faultsOfEach(rules, (rule, index) =>
    checkFailureRule(`${field}[${index}]`, rule, isPerIndex, containers),
  )
  return [...errors, ...ofEach]
}

function checkFailureRule(
  field: string,
  rule: unknown,
  isPerIndex: boolean,
  containers: ReadonlySet<string>,
): FieldError[] {
  const action = textIn(rule, 'action')
  const errors = checkWord(`${field}.action`, action, actions)
  if (action === 'FailIndex' && !isPerIndex) {
    errors.push(invalid(`${field}.action`, action, 'requires the backoffLimitPerIndex to be set'))
  }
  const exitCodes = objectIn(rule, 'onExitCodes')
  const conditions = listIn(rule, 'onPodConditions')
  if (exitCodes) errors.push(...checkExitCodes(`${field}.onExitCodes`, exitCodes, containers))
  errors.push(...checkConditions(`${field}.onPodConditions`, conditions))
  if (exitCodes && conditions.length > 0) {
    errors.push(invalidAsWhole(field, 'specifying both OnExitCodes and OnPodConditions is not supported'))
  }
  if (!exitCodes && conditions.length === 0) {
    errors.push(invalidAsWhole(field, 'specifying one of OnExitCodes and OnPodConditions is required'))
  }
  return errors
}

function checkExitCodes(field: string, requirement: Json, containers: ReadonlySet<string>): FieldError[] {
  const operator = textIn(requirement, 'operator')
  const errors = checkWord(`${field}.operator`, operator, operators)
  const container = fieldIn(requirement, 'containerName')
  if (typeof container === 'string' && !containers.has(container)) {
    const why = 'must be one of the container or initContainer names in the pod template'
    errors.push(invalid(`${field}.containerName`, container, why))
  }
  const values = listIn(requirement, 'values').filter((value) => typeof value === 'number')
  if (values.length === 0) errors.push(invalid(`${field}.values`, values, 'at least one value is required'))
  if (values.length > mostExitCodes) errors.push(tooMany(`${field}.values`, values.length, mostExitCodes))
  const seen = new Set<number>()
  for (const [index, value] of values.slice(0, mostExitCodes).entries()) {
    const here = `${field}.values[${index}]`
    if (operator === 'In' && value === 0) errors.push(invalid(here, value, 'must not be 0 for the In operator'))
    if (seen.has(value)) errors.push(duplicate(here, value))
    seen.add(value)
  }
  const isOrdered = values.every((value, index) => index === 0 || (values[index - 1] ?? value) <= value)
  if (!isOrdered) errors.push(invalid(`${field}.values`, values, 'must be ordered'))
  return errors
}

function checkConditions(field: string, conditions: readonly unknown[]): FieldError[] {
  const errors = conditions.length > mostConditions ? [tooMany(field, conditions.length, mostConditions)] : []
  const ofEach = faultsOfEach(conditions, (pattern, index) => {
    const here = `${field}[${index}]`
    return [
      ...checkQualifiedName(`${here}.type`, textIn(pattern, 'type')),
      ...checkWord(`${here}.status`, textIn(pattern, 'status'), statuses),
    ]
  })
  return [...errors, ...ofEach]
}

function checkSuccessPolicy(spec: Json): FieldError[] {
  const policy = objectIn(spec, 'successPolicy')
  if (!policy) return []
  if (textIn(spec, 'completionMode') !== 'Indexed') {
    return [invalid('spec.successPolicy', policy, 'requires indexed completion mode')]
  }
  const rules = listIn(policy, 'rules')
  const field = 'spec.successPolicy.rules'
  if (rules.length === 0) {
    return [required(field, 'at least one rules must be specified when the successPolicy is specified')]
  }
  const errors = rules.length > mostRules ? [tooMany(field, rules.length, mostRules)] : []
  const completions = numberIn(spec, 'completions')
  if (completions === undefined) return errors
  return [...errors, ...faultsOfEach(rules, (rule, index) => checkSuccessRule(`${field}[${index}]`, rule, completions))]
}

function checkSuccessRule(field: string, rule: unknown, completions: number): FieldError[] {
  const indexes = isObject(rule) ? fieldIn(rule, 'succeededIndexes') : undefined
  const count = numberIn(rule, 'succeededCount')
  const errors: FieldError[] = []
  if (indexes === undefined && count === undefined) {
    errors.push(required(field, 'at least one of succeededCount or succeededIndexes must be specified'))
  }
  let total: number | undefined
  if (typeof indexes === 'string') {
    const counted = countIndexes(indexes.slice(0, longestIndexes), completions)
    if (indexes.length > longestIndexes) errors.push(tooLong(`${field}.succeededIndexes`, longestIndexes))
    if (typeof counted === 'string') {
      errors.push(invalid(`${field}.succeededIndexes`, indexes, `error parsing succeededIndexes: ${counted}`))
    }
    total = typeof counted === 'number' ? counted : 0
  }
  errors.push(...checkNotNegative(`${field}.succeededCount`, count))
  const atMost = (most: number, what: string) => {
    if (count === undefined || count <= most) return
    errors.push(
      invalid(`${field}.succeededCount`, count, `must be less than or equal to ${most} (the number of ${what})`),
    )
  }
  atMost(completions, 'specified completions')
  if (total !== undefined) atMost(total, 'indexes in the specified succeededIndexes field')
  return errors
}

/** How many indexes `1,3-5` names, or what is wrong with it: they must ascend, and none may be beyond the last. */
function countIndexes(text: string, completions: number): number | string {
  let total = 0
  let last = -1
  for (const part of text === '' ? [] : text.split(',')) {
    const [, from, to = from] = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(part) ?? []
    if (from === undefined || to === undefined) return `"${part.slice(0, 63)}" is no index and no range of indexes`
    const [first, end] = [Number(from), Number(to)]
    if (first <= last) return `non-increasing order, previous: ${last}, current: ${first}`
    if (end < first || (part.includes('-') && end === first))
      return `non-increasing order, previous: ${first}, current: ${end}`
    if (end >= completions) return `too large index: "${end}"`
    total += end - first + 1
    last = end
  }
  return total
}

function checkReplacementPolicy(spec: Json): FieldError[] {
  const policy = textIn(spec, 'podReplacementPolicy')
  const allowed = objectIn(spec, 'podFailurePolicy') ? ['Failed'] : ['Failed', 'TerminatingOrFailed']
  return allowed.includes(policy) ? [] : [unsupported('spec.podReplacementPolicy', policy, allowed)]
}

function checkWord(field: string, value: string, allowed: readonly string[]): FieldError[] {
  if (value === '') return [required(field, `valid values: ${JSON.stringify(allowed)}`)]
  return allowed.includes(value) ? [] : [unsupported(field, value, allowed)]
}

/** An error about a value as a whole, without showing it. */
function invalidAsWhole(field: string, why: string): FieldError {
  return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${why}` }
}
