/** A JSON object of unknown content. */
export type JsonObject = { readonly [field: string]: unknown }

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value at a path of field names; `undefined` when the path leads nowhere. Only own fields count. */
export function valueAtPath(value: unknown, path: readonly string[]): unknown {
  let current = value
  for (const segment of path) {
    if (!isJsonObject(current) || !Object.hasOwn(current, segment)) return undefined
    current = current[segment]
  }
  return current
}

/**
 * A copy with the value at the path replaced; missing objects on the way are created. `undefined` removes the field.
 */
export function withValueAtPath(value: JsonObject, path: readonly string[], next: unknown): JsonObject {
  const [field, ...rest] = path
  if (field === undefined) return value
  if (rest.length === 0) return withField(value, field, next)
  const inner = value[field]
  return withField(value, field, withValueAtPath(isJsonObject(inner) ? inner : {}, rest, next))
}

function withField(value: JsonObject, field: string, next: unknown): JsonObject {
  if (next !== undefined) return { ...value, [field]: next }
  const { [field]: _removed, ...others } = value
  return others
}

/**
 * Absent and `undefined` fields are equal, because JSON cannot tell them apart. With a budget, every comparison uses
 * one; once it is below zero the result means nothing.
 */
export function sameJson(one: unknown, other: unknown, budget?: { left: number }): boolean {
  if (one === other) return true
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false
    if (budget && (budget.left -= one.length) < 0) return false
    return one.every((item, index) => sameJson(item, other[index], budget))
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return false
  const fields = Object.keys(one)
  if (budget && (budget.left -= fields.length) < 0) return false
  let shared = 0
  for (const field of fields) {
    if (!sameJson(one[field], other[field], budget)) return false
    if (Object.hasOwn(other, field)) shared += 1
  }
  const others = Object.keys(other)
  return others.length === shared || others.every((field) => other[field] === undefined || Object.hasOwn(one, field))
}

/** Whether a value has more than so many fields and items, at any depth. Only for values known not to be too deep. */
export function hasMoreValuesThan(value: unknown, most: number): boolean {
  return countValues(value, most) > most
}

/** The number of fields and items in a value, at any depth. */
export function valuesIn(value: unknown): number {
  return countValues(value, Infinity)
}

function countValues(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  let count = inner.length
  for (const part of inner) {
    if (count > most) return count
    if (typeof part === 'object' && part !== null) count += countValues(part, most - count)
  }
  return count
}

/** Whether a value is nested deeper than `limit`; stops there, so that a hostile value cannot exhaust the stack. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (limit <= 0) return true
  const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  for (const part of inner) if (isDeeperThan(part, limit - 1)) return true
  return false
}
