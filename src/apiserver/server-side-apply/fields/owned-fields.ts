import { isJsonObject } from '../../../resources/json-value.ts'
import { type FieldSet, type MutableFieldSet, fieldNode, leaf, nonEmpty } from './field-set.ts'
import { type ListShape, type MapShape, type Shape, formOf, itemElement } from './field-shape.ts'
import { fieldElement } from './path-element.ts'

/** The fields a manifest mentions, which whoever applies it comes to own. */
export function ownedFields(manifest: unknown, shape: Shape): FieldSet | undefined {
  return nonEmpty(fieldsBelow(manifest, shape))
}

/** `leaf`: the value is one field. `undefined`: nothing of it is owned, not even itself. */
function fieldsBelow(value: unknown, shape: Shape): FieldSet | undefined {
  const form = formOf(shape, value)
  if (form === 'map' && shape.map) return shape.map.atomic ? leaf : fieldsOfMap(value, shape.map)
  if (form === 'list' && shape.list) return shape.list.how === 'atomic' ? leaf : itemsOfList(value, shape.list)
  return leaf
}

function fieldsOfMap(value: unknown, map: MapShape): FieldSet | undefined {
  if (!isJsonObject(value)) return undefined
  const below: MutableFieldSet = {}
  for (const field of Object.keys(value)) {
    const inner = value[field]
    const shape = map.field(field)
    if (!shape || inner === undefined) continue
    const isEmpty = inner === null || (isJsonObject(inner) && Object.keys(inner).length === 0)
    const node = withItself(fieldsBelow(inner, shape), isEmpty || !map.isDeclared(field))
    if (node) below[fieldElement(field)] = node
  }
  return fieldNode(false, below)
}

function itemsOfList(value: unknown, list: ListShape): FieldSet | undefined {
  if (!Array.isArray(value)) return undefined
  const below: MutableFieldSet = {}
  for (const item of value) {
    const name = itemElement(list, item)
    if (!('element' in name)) continue
    // Of several items with one name, only the name is owned.
    const node = below[name.element] ? leaf : withItself(fieldsBelow(item, list.items), true)
    if (node) below[name.element] = node
  }
  return fieldNode(false, below)
}

function withItself(node: FieldSet | undefined, itself: boolean): FieldSet | undefined {
  if (!itself || node === undefined) return itself ? leaf : node
  return fieldNode(true, node)
}
