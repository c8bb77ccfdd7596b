import { type JsonObject, isJsonObject, sameJson } from '../../../resources/json-value.ts'
import { type FieldSet, type MutableFieldSet, isLeaf, leaf } from './field-set.ts'
import { type ListShape, type MapShape, type Shape, formOf, itemElement } from './field-shape.ts'
import { fieldElement } from './path-element.ts'

/** The fields in which two objects differ. No field is in two of the sets. */
export interface Comparison {
  readonly added?: FieldSet | undefined
  readonly modified?: FieldSet | undefined
  readonly removed?: FieldSet | undefined
}

const same: Comparison = {}
/** There is no such field, not even one that is null. */
const absent = Symbol('absent')

/** These belong to no manager: the server sets them, or they identify the object. */
const untrackedMetadata = [
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
]
const untracked = new Set(untrackedMetadata)

export const untrackedFields: FieldSet = {
  'f:apiVersion': leaf,
  'f:kind': leaf,
  'f:metadata': { '.': leaf, ...Object.fromEntries(untrackedMetadata.map((field) => [fieldElement(field), leaf])) },
}

/** Compares two objects of a kind. Without a previous one, everything is new but the fields that Go always writes. */
export function compareObjects(previous: JsonObject | undefined, after: JsonObject, shape: Shape): Comparison {
  if (!shape.map || previous === after) return same
  const before = previous ?? {}
  const parts = new Parts()
  for (const field of fieldsOfBoth(shape.map, before, after)) {
    if (field === 'apiVersion' || field === 'kind') continue
    if (field === 'metadata') parts.take('f:metadata', compareMetadata(before, after, shape))
    else compareField(parts, shape.map, field, before, after)
  }
  return parts.comparison()
}

function compareMetadata(before: JsonObject, after: JsonObject, shape: Shape): Comparison {
  const map = shape.map?.field('metadata')?.map
  const { metadata: left = {} } = before
  const { metadata: right = {} } = after
  if (!map || left === right) return same
  const parts = new Parts()
  for (const field of fieldsOfBoth(map, left, right)) {
    if (!untracked.has(field)) compareField(parts, map, field, left, right)
  }
  return parts.comparison()
}

/** Compares two existing values; an empty one is `null`. */
function compareValues(before: unknown, after: unknown, shape: Shape): Comparison {
  if (before === after) return same
  const form = formOf(shape, after ?? before)
  if (formOf(shape, before ?? after) !== form) return compareForms(before, after, shape)
  if (form === 'map' && shape.map) return compareMaps(before, after, shape.map)
  if (form === 'list' && shape.list) return compareLists(before, after, shape.list)
  return compareLeaves(before, after)
}

function compareLeaves(before: unknown, after: unknown): Comparison {
  return sameJson(before, after) ? same : { modified: leaf }
}

/** An object became a list, or the like: everything below is removed and everything new is added. */
function compareForms(before: unknown, after: unknown, shape: Shape): Comparison {
  const gone = compareValues(before, null, shape)
  const come = compareValues(null, after, shape)
  return { removed: gone.removed, added: come.added, modified: gone.modified ?? come.modified }
}

function compareMaps(before: unknown, after: unknown, map: MapShape): Comparison {
  if (map.atomic || (isEmptyMap(before, map) && isEmptyMap(after, map))) return compareLeaves(before, after)
  const parts = new Parts()
  for (const field of fieldsOfBoth(map, before, after)) compareField(parts, map, field, before, after)
  return parts.comparison()
}

function compareField(parts: Parts, map: MapShape, field: string, left: unknown, right: unknown): void {
  const shape = map.field(field)
  if (!shape) return
  const before = valueOf(map, field, left)
  const after = valueOf(map, field, right)
  const element = fieldElement(field)
  if (before === absent) {
    if (after !== absent) parts.add(element, wholeOf(after, shape))
  } else if (after === absent) parts.take(element, { removed: wholeOf(before, shape) })
  else parts.take(element, compareValues(before, after, shape))
}

/** A field that Go always writes exists even if nobody set it. */
function valueOf(map: MapShape, field: string, holder: unknown): unknown {
  if (!isJsonObject(holder)) return absent
  const value = Object.hasOwn(holder, field) ? holder[field] : undefined
  if (value !== undefined) return value
  if (!map.isAlwaysThere(field)) return absent
  return map.present.includes(field) ? {} : null
}

/** Everything in a value that only one side has, including itself. */
function wholeOf(value: unknown, shape: Shape): FieldSet {
  const below: MutableFieldSet = {}
  if (shape.map && !shape.map.atomic && isJsonObject(value)) {
    const { map } = shape
    for (const field in value) {
      const inner = value[field]
      const innerShape = inner === undefined ? undefined : map.field(field)
      if (innerShape) below[fieldElement(field)] = wholeOf(inner, innerShape)
    }
    for (const field of map.present) {
      const innerShape = value[field] === undefined ? map.field(field) : undefined
      if (innerShape) below[fieldElement(field)] = wholeOf({}, innerShape)
    }
  } else if (shape.list && shape.list.how !== 'atomic' && Array.isArray(value)) {
    for (const [element, [item, ...others]] of itemsByName(shape.list, value)) {
      below[element] = others.length > 0 ? leaf : wholeOf(item, shape.list.items)
    }
  } else return leaf
  return isLeaf(below) ? leaf : { '.': leaf, ...below }
}

function fieldsOfBoth(map: MapShape, left: unknown, right: unknown): Iterable<string> {
  const before = isJsonObject(left) ? Object.keys(left) : []
  const after = isJsonObject(right) ? Object.keys(right) : []
  if (before.length === 0 && map.present.length === 0) return after
  return new Set([...before, ...after, ...map.present])
}

function isEmptyMap(value: unknown, map: MapShape): boolean {
  if (!isJsonObject(value)) return true
  if (map.present.length > 0) return false
  for (const field in value) if (value[field] !== undefined) return false
  return true
}

function compareLists(left: unknown, right: unknown, list: ListShape): Comparison {
  const before: readonly unknown[] = Array.isArray(left) ? left : []
  const after: readonly unknown[] = Array.isArray(right) ? right : []
  if (list.how === 'atomic' || (before.length === 0 && after.length === 0)) return compareLeaves(left, right)
  const parts = new Parts()
  const beforeItems = itemsByName(list, before)
  const afterItems = itemsByName(list, after)
  for (const element of new Set([...beforeItems.keys(), ...afterItems.keys()])) {
    parts.take(element, compareItems(beforeItems.get(element) ?? [], afterItems.get(element) ?? [], list.items))
  }
  return parts.comparison()
}

/** Items with the same name are compared as one. */
function compareItems(left: readonly unknown[], right: readonly unknown[], shape: Shape): Comparison {
  if (left.length === 0 && right.length === 1) return { added: wholeOf(right[0], shape) }
  if (left.length === 1 && right.length === 0) return { removed: wholeOf(left[0], shape) }
  if (left.length === 1 && right.length === 1) return compareValues(left[0], right[0], shape)
  if (left.length > 1 && right.length > 1) return sameJson(left, right) ? same : { modified: leaf }
  if (left.length > 1) return { removed: leaf, ...(right.length === 1 && { added: wholeOf(right[0], shape) }) }
  return { added: leaf, ...(left.length === 1 && { removed: wholeOf(left[0], shape) }) }
}

function itemsByName(list: ListShape, items: readonly unknown[]): Map<string, unknown[]> {
  const named = new Map<string, unknown[]>()
  for (const item of items) {
    const name = itemElement(list, item)
    // What has no name cannot be owned; validation will complain about it.
    if (!('element' in name)) continue
    const others = named.get(name.element)
    if (others) others.push(item)
    else named.set(name.element, [item])
  }
  return named
}

/** The three sets below one element, created only when needed. */
class Parts {
  #added: MutableFieldSet | undefined
  #modified: MutableFieldSet | undefined
  #removed: MutableFieldSet | undefined

  add(element: string, added: FieldSet): void {
    ;(this.#added ??= {})[element] = added
  }

  take(element: string, { added, modified, removed }: Comparison): void {
    if (added) (this.#added ??= {})[element] = added
    if (modified) (this.#modified ??= {})[element] = modified
    if (removed) (this.#removed ??= {})[element] = removed
  }

  comparison(): Comparison {
    if (!this.#added && !this.#removed && !this.#modified) return same
    return { added: this.#added, modified: this.#modified, removed: this.#removed }
  }
}
