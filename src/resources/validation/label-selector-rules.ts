import { type FieldError, faultsOfEach, forbidden, invalid, required } from '../field-error.ts'
import { type Json, fieldIn, listIn, objectIn, textEntriesIn, textIn, textsIn } from './json-access.ts'
import { checkLabelValue, checkLabels, checkQualifiedName } from './name-syntax.ts'

export function checkLabelSelector(field: string, selector: Json): FieldError[] {
  const expressions = faultsOfEach(listIn(selector, 'matchExpressions'), (expression, index) =>
    checkExpression(`${field}.matchExpressions[${index}]`, expression),
  )
  return [...checkLabels(`${field}.matchLabels`, textEntriesIn(selector, 'matchLabels')), ...expressions]
}

function checkExpression(field: string, expression: unknown): FieldError[] {
  const operator = textIn(expression, 'operator')
  const values = textsIn(expression, 'values')
  const keys = checkQualifiedName(`${field}.key`, textIn(expression, 'key'))
  switch (operator) {
    case 'In':
    case 'NotIn': {
      if (values.length === 0) {
        return [required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'"), ...keys]
      }
      return [...keys, ...faultsOfEach(values, (value, index) => checkLabelValue(`${field}.values[${index}]`, value))]
    }
    case 'Exists':
    case 'DoesNotExist':
      if (values.length === 0) return keys
      return [
        forbidden(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
        ...keys,
      ]
    default:
      return [invalid(`${field}.operator`, operator, 'not a valid selector operator'), ...keys]
  }
}

/** Whether a well-formed selector selects these labels; an empty one selects everything. */
export function selects(selector: Json, labels: Json): boolean {
  const equal = textEntriesIn(selector, 'matchLabels').every(([key, value]) => labels[key] === value)
  return equal && listIn(selector, 'matchExpressions').every((expression) => matches(expression, labels))
}

function matches(expression: unknown, labels: Json): boolean {
  const key = textIn(expression, 'key')
  const value = fieldIn(labels, key)
  const isListed = typeof value === 'string' && textsIn(expression, 'values').includes(value)
  switch (textIn(expression, 'operator')) {
    case 'In':
      return isListed
    case 'NotIn':
      return !isListed
    case 'Exists':
      return value !== undefined
    default:
      return value === undefined
  }
}

export function isEmptySelector(selector: Json): boolean {
  return (
    Object.keys(objectIn(selector, 'matchLabels') ?? {}).length === 0 &&
    listIn(selector, 'matchExpressions').length === 0
  )
}
