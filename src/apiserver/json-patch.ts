import { StatusError } from '../resources/status-error.ts'
import { type JsonObject, isJsonObject, sameJson } from './json-value.ts'

const mostOperations = 10_000

/** RFC 6902. A patch that is not one is a BadRequest; one that does not fit the object is Invalid. */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new StatusError('BadRequest', 'a JSON patch is an array of operations')
  if (patch.length > mostOperations) {
    const why = `The allowed maximum operations in a JSON patch is ${mostOperations}, got ${patch.length}`
    throw new StatusError('RequestEntityTooLarge', why)
  }
  return patch.reduce((document: unknown, operation: unknown) => applyOperation(document, operation), target)
}

function applyOperation(document: unknown, operation: unknown): unknown {
  if (!isJsonObject(operation)) throw new StatusError('BadRequest', 'an operation of a JSON patch is an object')
  const path = pointer(operation, 'path')
  switch (operation['op']) {
    case 'add':
      return changeAt(document, path, 'add', valueOf(operation))
    case 'replace':
      return changeAt(document, path, 'replace', valueOf(operation))
    case 'remove':
      return changeAt(document, path, 'remove', undefined)
    case 'copy':
      return changeAt(document, path, 'add', read(document, pointer(operation, 'from')))
    case 'move': {
      const from = pointer(operation, 'from')
      const value = read(document, from)
      return changeAt(changeAt(document, from, 'remove', undefined), path, 'add', value)
    }
    case 'test': {
      if (sameJson(read(document, path), operation['value'])) return document
      throw misfit(`testing value ${shown(operation['path'])} failed`)
    }
    default:
      throw new StatusError('BadRequest', `unknown operation in a JSON patch: ${shown(operation['op'])}`)
  }
}

function valueOf(operation: JsonObject): unknown {
  if (Object.hasOwn(operation, 'value')) return operation['value']
  throw new StatusError('BadRequest', `the operation ${shown(operation['op'])} of a JSON patch needs a value`)
}

function pointer(operation: JsonObject, field: 'path' | 'from'): string[] {
  const text = operation[field]
  if (typeof text !== 'string' || (text !== '' && !text.startsWith('/'))) {
    throw new StatusError('BadRequest', `${field} of a JSON patch must be a JSON pointer, not ${shown(text)}`)
  }
  const segments = text.split('/').slice(1)
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function read(document: unknown, path: readonly string[]): unknown {
  let value = document
  for (const segment of path) {
    if (Array.isArray(value)) value = value[indexIn(value, segment, value.length - 1)]
    else if (isJsonObject(value) && Object.hasOwn(value, segment)) value = value[segment]
    else throw misfit(`${shown(`/${path.join('/')}`)} is not there`)
  }
  return value
}

function changeAt(
  document: unknown,
  path: readonly string[],
  how: 'add' | 'replace' | 'remove',
  value: unknown,
): unknown {
  const [segment, ...rest] = path
  if (segment === undefined) {
    if (how === 'remove') throw misfit('the whole object cannot be removed')
    return value
  }
  if (Array.isArray(document)) {
    const appending = rest.length === 0 && how === 'add'
    const index =
      appending && segment === '-' ? document.length : indexIn(document, segment, document.length - (appending ? 0 : 1))
    if (rest.length > 0) return document.with(index, changeAt(document[index], rest, how, value))
    if (how === 'add') return document.toSpliced(index, 0, value)
    return how === 'remove' ? document.toSpliced(index, 1) : document.with(index, value)
  }
  if (!isJsonObject(document) || segment === '__proto__') throw misfit(`there is nothing to hold ${shown(segment)}`)
  if ((rest.length > 0 || how !== 'add') && !Object.hasOwn(document, segment))
    throw misfit(`${shown(segment)} is not there`)
  if (rest.length > 0) return { ...document, [segment]: changeAt(document[segment], rest, how, value) }
  if (how !== 'remove') return { ...document, [segment]: value }
  const { [segment]: _removed, ...others } = document
  return others
}

function indexIn(list: readonly unknown[], segment: string, highest: number): number {
  const index = /^(0|[1-9]\d{0,9})$/.test(segment) ? Number(segment) : Number.NaN
  if (Number.isNaN(index) || index > highest)
    throw misfit(`${shown(segment)} is not an index of a list of ${list.length}`)
  return index
}

function misfit(why: string): StatusError {
  return new StatusError('Invalid', `the server rejected our request due to an error in our request: ${why}`)
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'undefined').slice(0, 200)
}
