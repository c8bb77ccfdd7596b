/**
 * Fields of a Pod that its schema keeps as they are: what is not of the kind that Kubernetes says counts as not given.
 */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

export function objectsOf(value: unknown): ReadonlyArray<Readonly<Record<string, unknown>>> {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
