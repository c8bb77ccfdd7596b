import { StatusError } from '../resources/status-error.ts'
import { type JsonObject, isJsonObject, sameJson } from './json-value.ts'
import { listMergeOf } from './merge-keys.ts'

const orderDirective = '$setElementOrder/'
const deleteDirective = '$deleteFromPrimitiveList/'

/** Kubernetes' own patch: like a merge patch, but lists whose items have a key are merged item by item. */
export function strategicMergePatch(kindName: string, target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) throw new StatusError('BadRequest', 'a strategic merge patch is an object')
  return mergeMap({ kindName, path: '' }, isJsonObject(target) ? target : {}, patch)
}

interface Place {
  readonly kindName: string
  readonly path: string
}

function inside({ kindName, path }: Place, field: string): Place {
  return { kindName, path: path === '' ? field : `${path}.${field}` }
}

function mergeMap(place: Place, target: JsonObject, patch: JsonObject): JsonObject {
  const directive = patch['$patch']
  if (directive === 'replace') return withoutDirectives(patch)
  if (directive === 'delete') return {}
  if (directive !== undefined && directive !== 'merge') throw badDirective(directive)
  const result: Record<string, unknown> = retained(target, patch['$retainKeys'])
  for (const [field, value] of Object.entries(patch)) {
    if (field.startsWith('$') || field === '__proto__') continue
    if (value === null) delete result[field]
    else if (isJsonObject(value)) result[field] = mergeMap(inside(place, field), objectOr(result[field]), value)
    else if (Array.isArray(value)) result[field] = mergeList(inside(place, field), result[field], value, patch)
    else result[field] = value
  }
  for (const field of Object.keys(patch)) applyListDirective(place, result, patch, field)
  return result
}

/** Directives that stand beside a list, and may come without a patch of the list itself. */
function applyListDirective(place: Place, result: Record<string, unknown>, patch: JsonObject, directive: string): void {
  if (directive.startsWith(deleteDirective)) {
    const field = directive.slice(deleteDirective.length)
    const gone = listOf(patch[directive])
    const list: unknown = result[field]
    if (Array.isArray(list))
      result[field] = list.filter((item: unknown) => !gone.some((value) => sameJson(value, item)))
  } else if (directive.startsWith(orderDirective)) {
    const field = directive.slice(orderDirective.length)
    const list: unknown = result[field]
    if (Array.isArray(list) && !Array.isArray(patch[field])) {
      result[field] = ordered(list, list, listOf(patch[directive]), keyAt(inside(place, field)))
    }
  }
}

function mergeList(place: Place, target: unknown, patch: readonly unknown[], siblings: JsonObject): unknown[] {
  const merge = listMergeOf(place.kindName, place.path)
  if (!merge) return patch.map((item) => (isJsonObject(item) ? withoutDirectives(item) : item))
  const current = listOf(target)
  const field = place.path.slice(place.path.lastIndexOf('.') + 1)
  const order = siblings[orderDirective + field]
  const result = merge.type === 'values' ? union(current, patch) : mergeByKey(place, current, patch, merge.key)
  // Without a word about the order, the patch's own is meant.
  return ordered(result, current, Array.isArray(order) ? order : patch, keyAt(place))
}

function union(current: readonly unknown[], patch: readonly unknown[]): unknown[] {
  return [...current, ...patch.filter((value) => !current.some((item) => sameJson(item, value)))]
}

function mergeByKey(place: Place, current: readonly unknown[], patch: readonly unknown[], key: string): unknown[] {
  const items = patch.map((item) => {
    if (isJsonObject(item)) return item
    throw new StatusError('BadRequest', `${place.path}: items of this list are objects`)
  })
  if (items.some((item) => item['$patch'] === 'replace')) {
    return items.filter((item) => item['$patch'] !== 'replace').map((item) => withoutDirectives(item))
  }
  const result: unknown[] = [...current]
  const places = ranks(current.map((item) => identity(isJsonObject(item) ? item[key] : undefined)))
  const gone = new Set<number>()
  for (const item of items) {
    if (item[key] === undefined) {
      throw new StatusError('BadRequest', `${place.path}: map does not contain declared merge key: ${key}`)
    }
    const id = identity(item[key])
    const at = places.get(id)
    if (item['$patch'] === 'delete') {
      if (at !== undefined) gone.add(at)
    } else if (at === undefined) places.set(id, result.push(mergeMap(place, {}, item)) - 1)
    else result[at] = mergeMap(place, objectOr(result[at]), item)
  }
  return result.filter((_item, index) => !gone.has(index))
}

/** The patch's items in the order it asks for; those only the server has stay where they were among the others. */
function ordered(
  list: readonly unknown[],
  before: readonly unknown[],
  order: readonly unknown[],
  key: string | undefined,
): unknown[] {
  const idOf = (item: unknown) => identity(key !== undefined && isJsonObject(item) ? item[key] : item)
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

/** Equal values have equal texts: keys of items are scalars. */
function identity(value: unknown): string {
  return JSON.stringify(value) ?? ''
}

function ranks(ids: readonly string[]): Map<string, number> {
  return new Map(ids.map((id, index) => [id, index]))
}

function keyAt(place: Place): string | undefined {
  const merge = listMergeOf(place.kindName, place.path)
  return merge?.type === 'by-key' ? merge.key : undefined
}

function retained(target: JsonObject, keys: unknown): Record<string, unknown> {
  if (!Array.isArray(keys)) return { ...target }
  return Object.fromEntries(Object.entries(target).filter(([field]) => keys.includes(field)))
}

function withoutDirectives(value: JsonObject): JsonObject {
  const plain = Object.entries(value).filter(([field, inner]) => !field.startsWith('$') && inner !== null)
  return Object.fromEntries(
    plain.map(([field, inner]) => [field, isJsonObject(inner) ? withoutDirectives(inner) : inner]),
  )
}

function objectOr(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function badDirective(directive: unknown): StatusError {
  return new StatusError('BadRequest', `Unknown patch type found: ${JSON.stringify(directive).slice(0, 100)}`)
}
