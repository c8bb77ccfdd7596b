import { type FieldError, invalid, required, tooMany, unsupported } from '../../resources/field-error.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'

type Add = (...errors: readonly FieldError[]) => void

const listTypes = ['atomic', 'set', 'map']
const mapTypes = ['atomic', 'granular']
/** More than any list has. Every item is identified by all of its keys, each time it is looked at. */
const mostKeys = 64

/** Checks `x-kubernetes-list-type`: sets need comparable items, maps need keys that are always present. */
export function checkListType(schema: StructuralSchema, path: string, add: Add): void {
  const type: string | undefined = schema['x-kubernetes-list-type']
  const keys = schema['x-kubernetes-list-map-keys']
  const keysPath = `${path}.x-kubernetes-list-map-keys`
  if (type !== undefined && schema.type !== 'array') {
    add(invalid(`${path}.type`, schema.type ?? '', 'must be array if x-kubernetes-list-type is specified'))
  }
  if (type !== undefined && !listTypes.includes(type)) {
    add(unsupported(`${path}.x-kubernetes-list-type`, type, listTypes))
  }
  if (type !== 'map') {
    if (keys && keys.length > 0)
      add(
        invalid(
          `${path}.x-kubernetes-list-type`,
          type ?? null,
          'must be map if x-kubernetes-list-map-keys is non-empty',
        ),
      )
    if (type === 'set' && schema.items) checkSetItems(schema.items, `${path}.items`, add)
    return
  }
  if (!keys || keys.length === 0) {
    add(required(keysPath, 'must not be empty if x-kubernetes-list-type is map'))
    return
  }
  if (keys.length > mostKeys) {
    add(tooMany(keysPath, keys.length, mostKeys))
    return
  }
  checkMapKeys(schema.items ?? {}, keys, keysPath, `${path}.items`, add)
}

function checkSetItems(items: StructuralSchema, path: string, add: Add): void {
  const why = 'must be atomic as item of a list with x-kubernetes-list-type=set'
  if (items.nullable) add(invalid(`${path}.nullable`, true, 'cannot be nullable when x-kubernetes-list-type is set'))
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    add(invalid(`${path}.x-kubernetes-map-type`, items['x-kubernetes-map-type'] ?? null, why))
  }
  if (items.type === 'array' && (items['x-kubernetes-list-type'] ?? 'atomic') !== 'atomic') {
    add(invalid(`${path}.x-kubernetes-list-type`, items['x-kubernetes-list-type'], why))
  }
}

function checkMapKeys(
  items: StructuralSchema,
  keys: readonly string[],
  keysPath: string,
  path: string,
  add: Add,
): void {
  if (items.type !== 'object') {
    add(invalid(`${path}.type`, items.type ?? '', "must be object if parent array's x-kubernetes-list-type is map"))
    return
  }
  if (keys.some((key) => !items.properties || !Object.hasOwn(items.properties, key))) {
    add(invalid(keysPath, keys, 'entries must all be names of item properties'))
  }
  if (new Set(keys).size < keys.length) add(invalid(keysPath, keys, 'must not contain duplicate entries'))
  for (const key of keys) {
    const property = items.properties?.[key]
    if (!property) continue
    const at = `${path}.properties[${key}]`
    if (property.type === 'array' || property.type === 'object') {
      add(invalid(`${at}.type`, property.type, "must be a scalar type if parent array's x-kubernetes-list-type is map"))
    }
    if (property.default === undefined && !items.required?.includes(key)) {
      const why = 'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property'
      add(required(`${at}.default`, why))
    }
  }
}

export function checkMapType(schema: StructuralSchema, path: string, add: Add): void {
  const type: string | undefined = schema['x-kubernetes-map-type']
  if (type === undefined) return
  if (!mapTypes.includes(type)) add(unsupported(`${path}.x-kubernetes-map-type`, type, mapTypes))
  if (schema.type !== 'object') {
    add(invalid(`${path}.type`, schema.type ?? '', 'must be object if x-kubernetes-map-type is specified'))
  }
}
