import { type JsonObject, isJsonObject } from '../../../resources/json-value.ts'
import { type FieldSet, type MutableFieldSet, belongs, fieldNode, leaf } from './field-set.ts'
import { type Shape, formOf, itemElement } from './field-shape.ts'
import { fieldElement } from './path-element.ts'

/** The object without the fields and items of the set. */
export function removeFields(object: JsonObject, fields: FieldSet | undefined, shape: Shape): JsonObject {
  const left = fields ? valueWithout(object, fields, shape) : object
  return isJsonObject(left) ? left : {}
}

/** `null`: nothing of it is left, though the field itself was not removed. */
function valueWithout(value: unknown, fields: FieldSet, shape: Shape): unknown {
  const form = formOf(shape, value)
  if (form === 'map')
    return isJsonObject(value) && shape.map && !shape.map.atomic ? mapWithout(value, fields, shape) : null
  if (form === 'list')
    return Array.isArray(value) && shape.list?.how !== 'atomic' ? listWithout(value, fields, shape) : null
  return value
}

function mapWithout(value: JsonObject, fields: FieldSet, shape: Shape): unknown {
  const left: Record<string, unknown> = {}
  for (const [field, inner] of Object.entries(value)) {
    const node = fields[fieldElement(field)]
    if (node && belongs(node)) continue
    const innerShape = shape.map?.field(field)
    left[field] = node && innerShape ? valueWithout(inner, node, innerShape) : inner
  }
  return Object.keys(left).length === 0 ? null : left
}

function listWithout(value: readonly unknown[], fields: FieldSet, { list }: Shape): unknown {
  if (!list) return value
  const left: unknown[] = []
  for (const item of value) {
    const name = itemElement(list, item)
    const node = 'element' in name ? fields[name.element] : undefined
    if (node && belongs(node)) continue
    left.push(node ? valueWithout(item, node, list.items) : item)
  }
  return left.length === 0 ? null : left
}

/**
 * Adds the fields that the set's paths lead through, as far as the schema names them: whoever owns `spec.replicas` owns
 * `spec`.
 */
export function withNamedFields(fields: FieldSet | undefined, shape: Shape | undefined): FieldSet | undefined {
  if (fields === undefined) return undefined
  const below: MutableFieldSet = {}
  for (const [element, node] of Object.entries(fields)) {
    if (element === '.') continue
    const isField = element.startsWith('f:')
    const name = element.slice(2)
    const inner = isField ? shape?.map?.field(name) : element.startsWith('k:') ? shape?.list?.items : undefined
    const named = withNamedFields(node, inner) ?? leaf
    const declared = isField && shape?.map?.isDeclared(name) === true
    below[element] = (declared && !belongs(named) ? fieldNode(true, named) : named) ?? leaf
  }
  return fieldNode(belongs(fields), below)
}
