/** Values from outside, read without trusting that they have the right shape: the rules say what is wrong with them. */
export type Json = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fieldIn(value: unknown, field: string): unknown {
  return isObject(value) && Object.hasOwn(value, field) ? value[field] : undefined
}

/** `undefined` when there is none. */
export function objectIn(value: unknown, field: string): Json | undefined {
  const inner = fieldIn(value, field)
  return isObject(inner) ? inner : undefined
}

export function listIn(value: unknown, field: string): readonly unknown[] {
  const inner = fieldIn(value, field)
  return Array.isArray(inner) ? inner : []
}

/** Empty when there is none. */
export function textIn(value: unknown, field: string): string {
  const inner = fieldIn(value, field)
  return typeof inner === 'string' ? inner : ''
}

export function textsIn(value: unknown, field: string): string[] {
  return listIn(value, field).filter((item) => typeof item === 'string')
}

export function numberIn(value: unknown, field: string): number | undefined {
  const inner = fieldIn(value, field)
  return typeof inner === 'number' ? inner : undefined
}

/** The entries of a map whose values are text. */
export function textEntriesIn(value: unknown, field: string): Array<[string, string]> {
  return Object.entries(objectIn(value, field) ?? {}).flatMap(([key, inner]): Array<[string, string]> =>
    typeof inner === 'string' ? [[key, inner]] : [],
  )
}
