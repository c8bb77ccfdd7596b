import type { JsonObject } from './json-value.ts'

/** What Kubernetes does with values of one of its types, wherever they occur in an object. */
export interface TypeRule {
  /** Parts that a value has even if they are not mentioned. */
  readonly parts?: readonly string[]
  /** Adds what a value lacks; returns the very same value when there is nothing to add. */
  readonly complete?: (value: JsonObject) => JsonObject
  /** Lists that are shown even when empty. */
  readonly shownEmpty?: readonly string[]
}

/** By the name of the type in Kubernetes' documents: `io.k8s.api.core.v1.PodSpec`. */
export type TypeRules = Readonly<Record<string, TypeRule>>

/** The prefixes of type names in the core group and in `apps`. */
export const core = 'io.k8s.api.core.v1.'
export const apps = 'io.k8s.api.apps.v1.'

/** A value with everything that the rules of its type add to it. */
export function withTypeRule(rule: TypeRule, value: JsonObject): JsonObject {
  const { parts, complete } = rule
  const whole = parts ? { ...Object.fromEntries(parts.map((part) => [part, {}])), ...value } : value
  return complete?.(whole) ?? whole
}

/** Fills in missing values. Empty text counts as missing, because Kubernetes cannot tell the two apart either. */
export function missing(defaults: JsonObject): (value: JsonObject) => JsonObject {
  return (value) => {
    let result: Record<string, unknown> | undefined
    for (const [field, given] of Object.entries(defaults)) {
      if (isUnset(value[field])) (result ??= { ...value })[field] = given
    }
    return result ?? value
  }
}

/** The same for numbers for which 0 means "not set". */
export function missingOrZero(defaults: Readonly<Record<string, number>>): (value: JsonObject) => JsonObject {
  return (value) => {
    let result: Record<string, unknown> | undefined
    for (const [field, given] of Object.entries(defaults)) if (!value[field]) (result ??= { ...value })[field] = given
    return result ?? value
  }
}

export function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}
