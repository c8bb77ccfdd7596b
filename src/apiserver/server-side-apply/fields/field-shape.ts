import type { StructuralSchema } from '../../../resources/structural-schema.ts'
import { isJsonObject, type JsonObject } from '../../../resources/json-value.ts'
import { keyElement, valueElement } from './path-element.ts'

export type ScalarType = 'string' | 'numeric' | 'boolean' | 'any'

/** How a value is merged: as a whole (scalars and atomic values), by fields, or by named items. */
export interface Shape {
  readonly scalar?: ScalarType | undefined
  readonly list?: ListShape | undefined
  readonly map?: MapShape | undefined
}

export interface ListShape {
  readonly how: 'atomic' | 'set' | 'map'
  /** The fields that name an item of a `map`. */
  readonly keys: readonly string[]
  readonly items: Shape
}

export interface MapShape {
  readonly atomic: boolean
  /** Fields that hold an object even if the object at hand does not mention them. */
  readonly present: readonly string[]
  isDeclared(field: string): boolean
  /** `undefined`: there is no such field. */
  field(name: string): Shape | undefined
  defaultOf(field: string): unknown
  /** Whether Go always writes the field: then nobody adds or removes it. */
  isAlwaysThere(field: string): boolean
}

/** Any value, merged as a whole. */
const untyped: Shape = {
  scalar: 'any',
  list: atomicList(() => untyped),
  map: freeMap(true, () => untyped),
}

/** Values without a schema: objects by field, everything else as a whole. */
const deduced: Shape = {
  scalar: 'any',
  list: atomicList(() => untyped),
  map: freeMap(false, () => deduced),
}

const shapes = new WeakMap<StructuralSchema, Shape>()
const preservingShapes = new WeakMap<StructuralSchema, Shape>()

/** The shape of what a schema describes, derived on demand because schemas may contain themselves. */
export function shapeOf(schema: StructuralSchema, inherited = false): Shape {
  // Schemas written inside one that preserves unknown fields do so, too; a named type speaks for itself.
  const named = schema['x-sluice-type-name'] !== undefined
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true || (inherited && !named)
  const scalar = scalarShape(schema)
  if (scalar) return scalar
  const cache = preserves ? preservingShapes : shapes
  let shape = cache.get(schema)
  if (!shape) {
    shape = newShape(schema, preserves)
    cache.set(schema, shape)
  }
  return shape
}

const scalars: Readonly<Record<ScalarType, Shape>> = {
  string: { scalar: 'string' },
  numeric: { scalar: 'numeric' },
  boolean: { scalar: 'boolean' },
  any: { scalar: 'any' },
}

/** Most schemas describe scalars, and a definition may have very many, so they share a few shapes. */
function scalarShape({ type, format }: StructuralSchema): Shape | undefined {
  switch (type) {
    case 'string':
      return format === undefined || format === 'byte' ? scalars.string : scalars.any
    case 'integer':
    case 'number':
      return scalars.numeric
    case 'boolean':
      return scalars.boolean
    default:
      return undefined
  }
}

function newShape(schema: StructuralSchema, preserves: boolean): Shape {
  switch (schema.type) {
    case 'object':
      return { map: mapShape(schema, preserves) }
    case 'array':
      return { list: listShape(schema, preserves) }
    default:
      return { scalar: 'any', list: listShape(schema, preserves), map: mapShape(schema, preserves) }
  }
}

function listShape(schema: StructuralSchema, preserves: boolean): ListShape {
  const { items } = schema
  const [how, keys] = listRelation(schema)
  let shape: Shape | undefined
  return {
    how,
    keys,
    get items() {
      return (shape ??= items ? shapeOf(items, preserves) : untyped)
    },
  }
}

function listRelation(schema: StructuralSchema): [ListShape['how'], readonly string[]] {
  const type = schema['x-kubernetes-list-type']
  if (type !== undefined) return [type, type === 'map' ? (schema['x-kubernetes-list-map-keys'] ?? []) : []]
  const strategy = schema['x-kubernetes-patch-strategy'] ?? ''
  if (strategy !== 'merge' && !strategy.startsWith('merge,')) return ['atomic', []]
  const key = schema['x-kubernetes-patch-merge-key']
  return key === undefined ? ['set', []] : ['map', [key]]
}

function mapShape(schema: StructuralSchema, preserves: boolean): MapShape {
  const declared = (name: string): StructuralSchema | undefined => {
    const { properties } = schema
    return properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined
  }
  // Used by every write, so it is derived only once.
  const known = new Map<string, Shape>()
  let others: { readonly shape: Shape | undefined } | undefined
  const field = (name: string): Shape | undefined => {
    const shape = known.get(name)
    if (shape) return shape
    const own = declared(name)
    if (own === undefined) return (others ??= { shape: otherFields(schema, preserves) }).shape
    const made = shapeOf(own, preserves)
    known.set(name, made)
    return made
  }
  const isGo = schema['x-sluice-type-name'] !== undefined
  const alwaysThere = new Set(isGo ? [...(schema.required ?? []), ...(schema['x-sluice-present'] ?? [])] : [])
  return {
    atomic: schema['x-kubernetes-map-type'] === 'atomic',
    present: schema['x-sluice-present'] ?? [],
    isDeclared: (name) => known.has(name) || declared(name) !== undefined,
    field,
    defaultOf: (name) => declared(name)?.default,
    isAlwaysThere: (name) => alwaysThere.has(name),
  }
}

function otherFields(schema: StructuralSchema, preserves: boolean): Shape | undefined {
  const { additionalProperties, properties } = schema
  if (additionalProperties === undefined) return preserves || properties === undefined ? deduced : undefined
  if (typeof additionalProperties === 'boolean') return additionalProperties ? deduced : undefined
  return shapeOf(additionalProperties, preserves)
}

function atomicList(items: () => Shape): ListShape {
  return {
    how: 'atomic',
    keys: [],
    get items() {
      return items()
    },
  }
}

function freeMap(atomic: boolean, field: () => Shape): MapShape {
  const nothing = () => false
  return { atomic, present: [], isDeclared: nothing, field, defaultOf: () => undefined, isAlwaysThere: nothing }
}

/** The form in which a value is merged; a value that fits none is taken for the first that is possible. */
export function formOf(shape: Shape, value: unknown): 'map' | 'list' | 'scalar' {
  if (Array.isArray(value) && shape.list) return 'list'
  if (isJsonObject(value) && shape.map) return 'map'
  if (value !== undefined && value !== null && typeof value !== 'object' && shape.scalar) return 'scalar'
  if (shape.map) return 'map'
  return shape.scalar ? 'scalar' : 'list'
}

/** The name of an item in its list, or a string that says why it has none. */
export function itemElement(list: ListShape, item: unknown): { element: string } | { why: string } {
  if (list.how === 'set') {
    if (Array.isArray(item)) return { why: 'not supported: associative list with lists as elements' }
    if (isJsonObject(item)) return { why: "associative list without keys has an element that's a map type" }
    if (item === null) return { why: "associative list without keys has an element that's an explicit null" }
    return { element: valueElement(item) }
  }
  if (item === null) return { why: 'associative list with keys may not have a null element' }
  if (!isJsonObject(item)) return { why: 'associative list with keys may not have non-map elements' }
  return keyOfItem(list, item)
}

function keyOfItem({ keys, items }: ListShape, item: JsonObject): { element: string } | { why: string } {
  const key: Array<readonly [string, unknown]> = []
  for (const name of keys) {
    const value = item[name] ?? items.map?.defaultOf(name)
    if (value !== undefined) key.push([name, value])
  }
  if (key.length > 0) return { element: keyElement(key) }
  const names = `[${keys.map((name) => JSON.stringify(name)).join(' ')}]`
  const rest = "(and doesn't have default values for any key fields)"
  return { why: `associative list with keys has an element that omits all key fields ${names} ${rest}` }
}
