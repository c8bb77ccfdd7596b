import { type FieldError, invalid } from '../../resources/field-error.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import type { ErrorList } from './error-list.ts'

/** Checks `allOf`, `anyOf`, `oneOf` and `not`; `faultsUnder` tells what one alternative finds wrong with the value. */
export function checkAlternatives(
  { anyOf, oneOf, allOf, not }: StructuralSchema,
  path: string,
  errors: ErrorList,
  faultsUnder: (alternative: StructuralSchema) => readonly FieldError[],
): void {
  const judge = (alternatives: readonly StructuralSchema[]) =>
    alternatives.map((alternative) => faultsUnder(alternative))
  if (anyOf && anyOf.length > 0) {
    const faults = judge(anyOf)
    if (faults.every((list) => list.length > 0)) {
      errors.add(combined(path, 'must validate at least one schema (anyOf)'), ...(faults[0] ?? []))
    }
  }
  if (oneOf && oneOf.length > 0) {
    const faults = judge(oneOf)
    const valid = faults.filter((list) => list.length === 0).length
    const sentence = 'must validate one and only one schema (oneOf).'
    if (valid === 0) errors.add(combined(path, `${sentence} Found none valid`), ...(faults[0] ?? []))
    if (valid > 1) errors.add(combined(path, `${sentence} Found ${valid} valid alternatives`))
  }
  if (allOf && allOf.length > 0) {
    const faults = judge(allOf)
    const broken = faults.filter((list) => list.length > 0)
    const none = broken.length === allOf.length ? '. None validated' : ''
    if (broken.length > 0) {
      errors.add(...broken.flat(), combined(path, `must validate all the schemas (allOf)${none}`))
    }
  }
  if (not && faultsUnder(not).length === 0) errors.add(combined(path, 'must not validate the schema (not)'))
}

/** The API server reports these without a field, and names the place in the message. */
function combined(path: string, sentence: string): FieldError {
  return invalid('<nil>', '', `"${path}" ${sentence}`)
}
