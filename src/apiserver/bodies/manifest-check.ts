import { briefJson } from '../../resources/brief-json.ts'
import { isJsonObject } from '../../resources/json-value.ts'
import {
  type ListShape,
  type MapShape,
  type ScalarType,
  type Shape,
  formOf,
  itemElement,
} from '../server-side-apply/fields/field-shape.ts'
import { shownElement } from '../server-side-apply/fields/path-element.ts'

/** More than this nobody reads. */
export const mostErrors = 100

/** Why a manifest cannot be applied, in Kubernetes' words: unknown fields, wrong types, items named twice. */
export function checkManifest(manifest: unknown, shape: Shape): string[] {
  return check(manifest, shape, '')
}

function check(value: unknown, shape: Shape, path: string): string[] {
  if (value === null) return []
  switch (formOf(shape, value)) {
    case 'map':
      return shape.map ? checkMap(value, shape.map, path) : []
    case 'list':
      return shape.list ? checkList(value, shape.list, path) : []
    default:
      return shape.scalar ? checkScalar(value, shape.scalar, path) : []
  }
}

function checkMap(value: unknown, map: MapShape, path: string): string[] {
  if (!isJsonObject(value)) return [`${path}: expected map, got ${goValue(value)}`]
  const errors: string[] = []
  for (const field of Object.keys(value)) {
    const shape = map.field(field)
    const innerPath = `${path}.${field}`
    if (!shape) return [...errors, `${innerPath}: field not declared in schema`]
    for (const error of check(value[field], shape, innerPath)) errors.push(error)
    if (errors.length > mostErrors) return errors
  }
  return errors
}

function checkList(value: unknown, list: ListShape, path: string): string[] {
  if (!Array.isArray(value)) return [`${path}: expected list, got ${goValue(value)}`]
  const errors: string[] = []
  const seen = new Set<string>()
  for (const [index, item] of value.entries()) {
    const name = list.how === 'atomic' ? { element: `i:${index}` } : itemElement(list, item)
    if ('why' in name) return [...errors, `${path}: element ${index}: ${name.why}`]
    const shown = shownElement(name.element)
    if (seen.has(name.element)) errors.push(`${path}: duplicate entries for key ${shown}`)
    seen.add(name.element)
    for (const error of check(item, list.items, path + shown)) errors.push(error)
    if (errors.length > mostErrors) return errors
  }
  return errors
}

function checkScalar(value: unknown, type: ScalarType, path: string): string[] {
  switch (type) {
    case 'numeric':
      return typeof value === 'number' ? [] : [`${path}: expected numeric (int or float), got ${goType(value)}`]
    case 'string':
      return typeof value === 'string'
        ? []
        : [`${path}: expected string, got &value.valueUnstructured{Value:${briefJson(value, 4096)}}`]
    case 'boolean':
      return typeof value === 'boolean' ? [] : [`${path}: expected boolean, got ${goValue(value)}`]
    default:
      return typeof value === 'object' ? [`${path}: expected any scalar, got ${goValue(value)}`] : []
  }
}

function goValue(value: unknown): string {
  return `&{${typeof value === 'string' ? value.slice(0, 200) : briefJson(value, 200)}}`
}

function goType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}'
  if (isJsonObject(value)) return 'map[string]interface {}'
  return typeof value === 'boolean' ? 'bool' : 'string'
}
