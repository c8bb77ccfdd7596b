import { type JsonObject, isJsonObject, sameJson } from '../../../resources/json-value.ts'
import { type ListShape, type MapShape, type Shape, formOf, itemElement } from './field-shape.ts'

/**
 * Lays what is applied over what is there. Nothing is removed; the order of items follows what is applied. Where
 * nothing is new, the very same value is returned, so that it need not be validated or compared again.
 */
export function mergeObjects(live: JsonObject, applied: JsonObject, shape: Shape): JsonObject {
  const merged = mergeValues(live, applied, shape)
  return isJsonObject(merged) ? merged : {}
}

/** `undefined` on one side: only the other one has it. */
function mergeValues(live: unknown, applied: unknown, shape: Shape): unknown {
  if (applied === undefined) return live
  if (live === undefined) return applied
  const form = formOf(shape, applied)
  if (form === 'map' && shape.map && !shape.map.atomic && !(isEmpty(live) && isEmpty(applied))) {
    return mergeMaps(live, applied, shape.map)
  }
  if (form === 'list' && shape.list && shape.list.how !== 'atomic' && !(isEmpty(live) && isEmpty(applied))) {
    return mergeLists(live, applied, shape.list)
  }
  return sameJson(live, applied) ? live : applied
}

function isEmpty(value: unknown): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0
}

function mergeMaps(live: unknown, applied: unknown, map: MapShape): JsonObject {
  const before = isJsonObject(live) ? live : {}
  if (!isJsonObject(applied)) return before
  let merged: Record<string, unknown> | undefined
  for (const field of Object.keys(applied)) {
    const shape = map.field(field)
    if (!shape || field === '__proto__') continue
    const value = mergeValues(before[field], applied[field], shape)
    if (value !== before[field]) (merged ??= { ...before })[field] = value
  }
  return merged ?? before
}

/**
 * Merges the items of both sides by name. Items that only the live object has keep their place among their neighbours;
 * items of both come in the order of what is applied.
 */
function mergeLists(live: unknown, applied: unknown, list: ListShape): unknown {
  const before = namedItems(list, live)
  const after = namedItems(list, applied)
  const shared = after.names.filter((name) => before.items.has(name))
  const taken = new Set<string>()
  let nextShared = 0
  const merged: unknown[] = []
  const take = (name: string) => {
    taken.add(name)
    merged.push(mergeValues(before.items.get(name), after.items.get(name), list.items))
    if (shared[nextShared] === name) nextShared += 1
  }
  let left = 0
  let right = 0
  while (left < before.names.length || right < after.names.length) {
    const name = before.names[left]
    const next = after.names[right]
    if (name !== undefined && next !== undefined) {
      if (name === next) {
        take(name)
        left += 1
        right += 1
        continue
      }
      if (after.items.has(name) && nextShared < shared.length && shared[nextShared] !== name) {
        left += 1
        continue
      }
    }
    if (name !== undefined && !after.items.has(name)) {
      merged.push(before.all[left])
      left += 1
      continue
    }
    if (name !== undefined && taken.has(name)) left += 1
    if (next !== undefined) {
      take(next)
      right += 1
    }
  }
  return isSameList(merged, live) ? live : merged
}

function isSameList(merged: readonly unknown[], live: unknown): boolean {
  return Array.isArray(live) && live.length === merged.length && merged.every((item, index) => item === live[index])
}

interface NamedItems {
  /** In the order of `all`. */
  readonly names: readonly string[]
  readonly all: readonly unknown[]
  readonly items: ReadonlyMap<string, unknown>
}

function namedItems(list: ListShape, value: unknown): NamedItems {
  const names: string[] = []
  const all: unknown[] = []
  const items = new Map<string, unknown>()
  for (const item of Array.isArray(value) ? value : []) {
    const name = itemElement(list, item)
    if (!('element' in name)) continue
    names.push(name.element)
    all.push(item)
    // Items that share a name are not merged with: what is applied replaces them.
    items.set(name.element, items.has(name.element) ? undefined : item)
  }
  return { names, all, items }
}
