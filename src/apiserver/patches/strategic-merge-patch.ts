import { StatusError } from '../../resources/status-error.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'
import { keyedBy, orderList } from './list-order.ts'

const orderDirective = '$setElementOrder/'
const deleteDirective = '$deleteFromPrimitiveList/'

type Schema = StructuralSchema | undefined

/**
 * Kubernetes' own patch format: like a merge patch, but lists whose items have a key are merged item by item, as the
 * kind's schema says. A real server answers a malformed one with an internal error; here it is a bad request, because
 * it is the client's mistake.
 */
export function strategicMergePatch(schema: StructuralSchema, target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) throw badPatch('a strategic merge patch is an object')
  return mergeMap(schema, isJsonObject(target) ? target : {}, patch)
}

function mergeMap(schema: Schema, original: JsonObject, patch: JsonObject): JsonObject {
  const directive = patch['$patch']
  if (directive === 'replace') return without(patch, '$patch')
  if (directive === 'delete') return {}
  if (directive !== undefined) throw unknownDirective(directive)
  const result: Record<string, unknown> = retained(original, patch)
  const orderedFields = new Set<string>()
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(orderDirective)) continue
    const field = key.slice(orderDirective.length)
    orderedFields.add(field)
    mergeOrdered(fieldOf(schema, field), result, patch, field, order)
  }
  for (const [field, value] of Object.entries(patch)) {
    if (isDirective(field) || orderedFields.has(field) || field === '__proto__') continue
    const merged = mergeValue(fieldOf(schema, field), result[field], value)
    if (merged === undefined) delete result[field]
    else result[field] = merged
  }
  for (const [key, gone] of Object.entries(patch)) {
    if (key.startsWith(deleteDirective)) deleteValues(result, key.slice(deleteDirective.length), gone)
  }
  return result
}

function mergeValue(schema: Schema, original: unknown, value: unknown): unknown {
  if (value === null) return undefined
  if (isJsonObject(value) && isJsonObject(original)) {
    return strategyOf(schema) === 'replace' ? value : mergeMap(schema, original, value)
  }
  if (Array.isArray(value) && Array.isArray(original)) return mergeList(schema, original, value)
  return withoutDirectives(value)
}

function mergeList(schema: Schema, original: readonly unknown[], patch: readonly unknown[]): unknown[] {
  if (strategyOf(schema) !== 'merge') return [...patch]
  const ofObjects = sameKind(original, patch)
  const key = schema?.['x-kubernetes-patch-merge-key']
  if (!ofObjects) return orderList([...new Set([...original, ...patch])], original, patch, undefined)
  if (key === undefined) throw badPatch('cannot merge lists without merge key')
  const { kept, plain, replaced } = applyItemDirectives(original, patch.filter(isJsonObject), key)
  if (replaced) return plain
  return orderList(mergeItems(schema?.items, kept, plain, key), kept, plain, key)
}

/** Takes the items that are directives, about the list or about other items, out of the patch and carries them out. */
function applyItemDirectives(original: readonly unknown[], patch: readonly JsonObject[], key: string) {
  const plain: JsonObject[] = []
  const gone = new Set<string>()
  let replaced = false
  for (const item of patch) {
    const directive = item['$patch']
    if (directive === undefined) plain.push(item)
    else if (directive === 'replace') replaced = true
    else if (directive === 'delete') gone.add(identityOf(item, key))
    else throw unknownDirective(directive)
  }
  const kept = gone.size === 0 ? original : original.filter((item) => !gone.has(keyedBy(item, key)))
  return { kept, plain, replaced }
}

function mergeItems(
  schema: Schema,
  original: readonly unknown[],
  patch: readonly JsonObject[],
  key: string,
): unknown[] {
  const result = [...original]
  const places = new Map<string, number>()
  for (const [index, item] of result.entries()) {
    const id = keyedBy(item, key)
    if (!places.has(id)) places.set(id, index)
  }
  for (const item of patch) {
    const id = identityOf(item, key)
    const at = places.get(id)
    const current = at === undefined ? undefined : result[at]
    if (at === undefined) places.set(id, result.push(withoutDirectives(item)) - 1)
    else result[at] = mergeMap(schema, isJsonObject(current) ? current : {}, item)
  }
  return result
}

/** Merges a list whose order the patch gives; the order may come without a patch of the list itself. */
function mergeOrdered(
  schema: Schema,
  result: Record<string, unknown>,
  patch: JsonObject,
  field: string,
  order: unknown,
): void {
  const original = result[field]
  const change = patch[field]
  if (!Array.isArray(order)) throw badPatch(`${orderDirective}${field} must be a list`)
  if (!isListOrNothing(original) || !isListOrNothing(change)) throw badPatch(`${field} must be a list`)
  const key = schema?.['x-kubernetes-patch-merge-key']
  if (change !== undefined && order.length > 0) refuseUnordered(field, change, order, key)
  const merged = change === undefined ? original : mergeValue(schema, original, change)
  if (Array.isArray(merged)) result[field] = orderList(merged, original ?? [], order, key)
}

/** What is patched must be named in the order, in the same sequence. */
function refuseUnordered(
  field: string,
  change: readonly unknown[],
  order: readonly unknown[],
  key: string | undefined,
) {
  let at = 0
  for (const item of change) {
    if (isJsonObject(item) && item['$patch'] !== undefined) continue
    const id = keyedBy(item, key)
    while (at < order.length && keyedBy(order[at], key) !== id) at += 1
    at += 1
    if (at > order.length)
      throw badPatch(`the order in the patch list ${field} does not match ${orderDirective}${field}`)
  }
}

function deleteValues(result: Record<string, unknown>, field: string, gone: unknown): void {
  const list = result[field]
  if (!Array.isArray(list)) return
  if (!Array.isArray(gone)) throw badPatch(`${deleteDirective}${field} must be a list`)
  const values = new Set<unknown>(gone)
  result[field] = list.filter((item: unknown) => !values.has(item))
}

function retained(original: JsonObject, patch: JsonObject): Record<string, unknown> {
  const keys = patch['$retainKeys']
  if (keys === undefined) return { ...original }
  const named = new Set<unknown>(Array.isArray(keys) ? keys : [])
  const stray = Object.entries(patch).some(
    ([field, value]) => value !== null && !isDirective(field) && !named.has(field),
  )
  if (!Array.isArray(keys) || stray) throw badPatch('invalid patch format of retainKeys')
  return Object.fromEntries(Object.entries(original).filter(([field]) => named.has(field)))
}

/** New values are taken without nulls and without merge directives. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.filter((item) => !(isJsonObject(item) && Object.hasOwn(item, '$patch'))).map(withoutDirectives)
  }
  if (!isJsonObject(value)) return value
  if (Object.hasOwn(value, '$patch')) return undefined
  const kept = Object.entries(value).flatMap(([field, inner]): Array<[string, unknown]> => {
    const plain = inner === null || isDirective(field) || field === '__proto__' ? undefined : withoutDirectives(inner)
    return plain === undefined ? [] : [[field, plain]]
  })
  return Object.fromEntries(kept)
}

/** Whether the lists hold objects; lists of both, or of lists, cannot be merged. */
function sameKind(original: readonly unknown[], patch: readonly unknown[]): boolean {
  const items = [...original, ...patch]
  if (items.some((item) => Array.isArray(item))) throw badPatch('lists of lists are not supported')
  const objects = items.filter(isJsonObject).length
  if (objects !== 0 && objects !== items.length) throw badPatch('list element types are not identical')
  return objects > 0
}

function fieldOf(schema: Schema, field: string): Schema {
  if (schema?.properties && Object.hasOwn(schema.properties, field)) return schema.properties[field]
  return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined
}

/** `merge`, `replace` or none: `retainKeys` only concerns the client that makes the patch. */
function strategyOf(schema: Schema): string | undefined {
  return schema?.['x-kubernetes-patch-strategy']?.split(',').find((strategy) => strategy !== 'retainKeys')
}

function identityOf(item: JsonObject, key: string): string {
  if (item[key] === undefined) throw badPatch(`an item of a list does not contain declared merge key: ${key}`)
  return keyedBy(item, key)
}

function isDirective(field: string): boolean {
  return (
    field === '$patch' ||
    field === '$retainKeys' ||
    field.startsWith(orderDirective) ||
    field.startsWith(deleteDirective)
  )
}

function isListOrNothing(value: unknown): value is readonly unknown[] | undefined {
  return value === undefined || Array.isArray(value)
}

function without(value: JsonObject, field: string): JsonObject {
  const { [field]: _left, ...rest } = value
  return rest
}

function unknownDirective(directive: unknown): StatusError {
  return badPatch(`unknown patch type: ${JSON.stringify(directive).slice(0, 100)}`)
}

function badPatch(message: string): StatusError {
  return new StatusError('BadRequest', message)
}
