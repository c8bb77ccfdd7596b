import { isJsonObject } from '../../resources/json-value.ts'

/**
 * What identifies an item of a list: its key, or the value itself where there is no key. Equal values have equal texts.
 */
export function keyedBy(item: unknown, key: string | undefined): string {
  return JSON.stringify(key !== undefined && isJsonObject(item) ? item[key] : item) ?? ''
}

/** Puts the items that `order` names into its order; the others keep their places among them. */
export function orderList(
  list: readonly unknown[],
  before: readonly unknown[],
  order: readonly unknown[],
  key: string | undefined,
): unknown[] {
  const idOf = (item: unknown) => keyedBy(item, key)
  const wanted = ranks(order.map(idOf))
  const was = ranks(before.map(idOf))
  const rankOf = (item: unknown) => wanted.get(idOf(item)) ?? -1
  const named = list.filter((item) => rankOf(item) >= 0).sort((one, other) => rankOf(one) - rankOf(other))
  const others = list.filter((item) => rankOf(item) < 0)
  const result: unknown[] = []
  let next = 0
  for (const item of named) {
    const position = was.get(idOf(item)) ?? -1
    for (; next < others.length && (was.get(idOf(others[next])) ?? Infinity) < position; next++)
      result.push(others[next])
    result.push(item)
  }
  return [...result, ...others.slice(next)]
}

function ranks(ids: readonly string[]): Map<string, number> {
  const result = new Map<string, number>()
  for (const [index, id] of ids.entries()) if (!result.has(id)) result.set(id, index)
  return result
}
