import { type FieldError, forbidden, invalid } from './field-error.ts'
import { type JsonObject, isJsonObject, sameJson, valueAtPath } from './json-value.ts'
import type { KubernetesObject } from './kubernetes-object.ts'

export type UpdateRule = (next: KubernetesObject, previous: KubernetesObject) => FieldError[]

/** A field that must not change. */
export function fixed(path: string, why = 'field is immutable', field = path): UpdateRule {
  const segments = path.split('.')
  return (next, previous) => {
    const [after, before] = [valueAtPath(next, segments), valueAtPath(previous, segments)]
    return sameJson(after, before) ? [] : [invalid(field, after ?? null, why)]
  }
}

/** The same for fields for which Kubernetes words it differently. */
export function notUpdated(field: string): UpdateRule {
  return (next, previous) =>
    sameJson(next[field], previous[field]) ? [] : [forbidden(field, `updates to ${field} are forbidden.`)]
}

/** Nothing in the spec may change except these fields. */
export function fixedSpecExcept(mutable: readonly string[], why: string, field = 'spec'): UpdateRule {
  return (next, previous) => {
    const [after, before] = [omit(specOf(next), mutable), omit(specOf(previous), mutable)]
    return sameJson(after, before) ? [] : [forbidden(field, why)]
  }
}

/** Secrets and ConfigMaps that were declared immutable stay so, and so does their content. */
export const sealed: UpdateRule = (next, previous) => {
  if (previous['immutable'] !== true) return []
  const why = 'field is immutable when `immutable` is set'
  const errors = ['data', 'binaryData']
    .filter((field) => !sameJson(next[field] ?? {}, previous[field] ?? {}))
    .map((field) => forbidden(field, why))
  return next['immutable'] === true ? errors : [forbidden('immutable', why), ...errors]
}

export function specOf(object: JsonObject | undefined): JsonObject {
  const spec = object?.['spec']
  return isJsonObject(spec) ? spec : {}
}

function omit(value: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field)))
}
