import { briefJson } from '../../resources/brief-json.ts'
import { StatusError } from '../../resources/status-error.ts'
import { type JsonObject, isJsonObject, sameJson } from '../../resources/json-value.ts'
import { PatchedDocument, misfit } from './patched-document.ts'

const mostOperations = 10_000
/** The most segments of a path; no object is nested nearly as deep. */
const mostSegments = 1_000
/** The most bytes that all `copy` operations together may copy, as on the real server. */
const mostCopied = 3 * 1024 * 1024
/**
 * The most values that are compared in all, because a `test` of the whole object can be repeated any number of times.
 */
const mostCompared = 4_000_000

/** RFC 6902. A malformed patch is a BadRequest; one that does not fit the object is Invalid. */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw new StatusError('BadRequest', 'a JSON patch is an array of operations')
  if (patch.length > mostOperations) {
    const why = `The allowed maximum operations in a JSON patch is ${mostOperations}, got ${patch.length}`
    throw new StatusError('RequestEntityTooLarge', why)
  }
  const document = new PatchedDocument(target)
  const used = { copied: 0, compared: 0 }
  for (const operation of patch) applyOperation(document, operation, used)
  return document.value
}

/** What all operations together have used so far. */
interface Used {
  copied: number
  compared: number
}

function applyOperation(document: PatchedDocument, operation: unknown, used: Used): void {
  if (!isJsonObject(operation)) throw new StatusError('BadRequest', 'an operation of a JSON patch is an object')
  const path = pointer(operation, 'path')
  switch (operation['op']) {
    case 'add':
      return document.change(path, 'add', valueOf(operation))
    case 'replace':
      return document.change(path, 'replace', valueOf(operation))
    case 'remove':
      return document.change(path, 'remove', undefined)
    case 'copy': {
      const value = document.read(pointer(operation, 'from'))
      refuseGrowth(value, used)
      return document.change(path, 'add', document.shared(value))
    }
    case 'move': {
      const from = pointer(operation, 'from')
      const value = document.read(from)
      document.change(from, 'remove', undefined)
      return document.change(path, 'add', value)
    }
    case 'test': {
      const budget = { left: mostCompared - used.compared }
      const holds = sameJson(document.read(path), operation['value'], budget)
      used.compared = mostCompared - budget.left
      if (budget.left < 0) throw misfit('the tests of the patch compare more than this server does for one request')
      if (holds) return
      throw misfit(`testing value ${shown(operation['path'])} failed`)
    }
    default:
      throw new StatusError('BadRequest', `unknown operation in a JSON patch: ${shown(operation['op'])}`)
  }
}

/** In the words of the real server: copies of copies would grow without end. */
function refuseGrowth(value: unknown, used: Used): void {
  used.copied += Buffer.byteLength(JSON.stringify(value) ?? '')
  if (used.copied <= mostCopied) return
  const why = `the accumulated size increase of copy is ${used.copied}, exceeding the limit ${mostCopied}`
  throw misfit(`Unable to complete the copy, ${why}`)
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
  const segments = text.split('/', mostSegments + 2).slice(1)
  if (segments.length > mostSegments) throw misfit(`${shown(text.slice(0, 100))} leads deeper than any object is`)
  return segments.map((segment) =>
    segment.includes('~') ? segment.replaceAll('~1', '/').replaceAll('~0', '~') : segment,
  )
}

function shown(value: unknown): string {
  return briefJson(value, 200)
}
