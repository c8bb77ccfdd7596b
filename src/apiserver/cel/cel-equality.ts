/** Whether two values of the Common Expression Language are the same, deeply. */
export function equalValues(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one === 'bigint' || typeof other === 'bigint') return isNumeric(one) && isNumeric(other) && one == other
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one)) return Array.isArray(other) && equalLists(one, other)
  if (one instanceof Date) return other instanceof Date && one.getTime() === other.getTime()
  if (one instanceof Uint8Array) return other instanceof Uint8Array && Buffer.compare(one, other) === 0
  if (one.constructor !== other.constructor) return false
  if (one instanceof Map) return other instanceof Map && equalMaps(one, other)
  return equalMaps(new Map(Object.entries(one)), new Map(Object.entries(other)))
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function equalLists(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, index) => equalValues(item, other[index]))
}

function equalMaps(one: ReadonlyMap<unknown, unknown>, other: ReadonlyMap<unknown, unknown>): boolean {
  if (one.size !== other.size) return false
  for (const [key, value] of one) if (!other.has(key) || !equalValues(value, other.get(key))) return false
  return true
}
