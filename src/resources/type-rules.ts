import type { JsonObject } from './json-value.ts'

/** What Kubernetes does with the values of one of its types, wherever in an object they stand. */
export interface TypeRule {
  /** Parts that a value has even when nothing is said about them. */
  readonly parts?: readonly string[]
  /** Adds what a value does not say; the very same value where nothing is to be added. */
  readonly complete?: (value: JsonObject) => JsonObject
  /** Lists that are shown although there is nothing in them. */
  readonly shownEmpty?: readonly string[]
}

/** By the name of the type in Kubernetes' documents: `io.k8s.api.core.v1.PodSpec`. */
export type TypeRules = Readonly<Record<string, TypeRule>>

/** What the names of types in the core group begin with, and in `apps`. */
export const core = 'io.k8s.api.core.v1.'
export const apps = 'io.k8s.api.apps.v1.'

/** A value of a named type, with everything that the rules of its type add to it. */
export function withTypeRule(rule: TypeRule, value: JsonObject): JsonObject {
  const { parts, complete } = rule
  const whole = parts ? { ...Object.fromEntries(parts.map((part) => [part, {}])), ...value } : value
  return complete?.(whole) ?? whole
}

/** Fills in what is not there; empty text counts as that, since Kubernetes cannot tell the two apart either. */
export function missing(defaults: JsonObject): (value: JsonObject) => JsonObject {
  return (value) => {
    let result: Record<string, unknown> | undefined
    for (const [field, given] of Object.entries(defaults)) {
      if (isUnset(value[field])) (result ??= { ...value })[field] = given
    }
    return result ?? value
  }
}

/** The same for numbers of which 0 says nothing. */
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
