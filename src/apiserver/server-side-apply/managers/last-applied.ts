import { type JsonObject, isJsonObject, valueAtPath } from '../../../resources/json-value.ts'
import { compareObjects } from '../fields/compare-objects.ts'
import { type FieldSet, difference } from '../fields/field-set.ts'
import { ownedFields } from '../fields/owned-fields.ts'
import type { TrackedKind } from './tracked-kind.ts'

const annotation = 'kubectl.kubernetes.io/last-applied-configuration'
const mostAnnotationBytes = 256 * 1024

/**
 * Fields that kubectl applied on the client's side and that are still as it applied them: kubectl may change them,
 * whoever manages them.
 */
export function allowedByLastApplied(live: JsonObject, kind: TrackedKind): FieldSet | undefined {
  const applied = lastApplied(live)
  if (!applied || applied['apiVersion'] !== kind.apiVersion) return undefined
  const { added, modified, removed } = compareObjects(applied, live, kind.shape)
  return difference(difference(difference(ownedFields(applied, kind.shape), modified), added), removed)
}

function lastApplied(live: JsonObject): JsonObject | undefined {
  const text = valueAtPath(live, ['metadata', 'annotations', annotation])
  if (typeof text !== 'string') return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Keeps the annotation of client-side apply up to date on objects that have it, so that kubectl can go back to it. */
export function withLastApplied(object: JsonObject, manifest: JsonObject): JsonObject {
  const { metadata } = object
  if (!isJsonObject(metadata) || !isJsonObject(metadata['annotations'])) return object
  const { [annotation]: before, ...others } = metadata['annotations']
  if (before === undefined || before === '') return object
  const text = `${goJson(withoutAnnotation(manifest))}\n`
  const annotations = { ...others, [annotation]: text }
  const size = Object.entries(annotations).reduce((sum, [key, value]) => sum + bytes(key) + bytes(value), 0)
  return { ...object, metadata: { ...metadata, annotations: size > mostAnnotationBytes ? others : annotations } }
}

function withoutAnnotation(manifest: JsonObject): JsonObject {
  const { metadata } = manifest
  if (!isJsonObject(metadata) || !isJsonObject(metadata['annotations'])) return manifest
  const { [annotation]: _applied, ...annotations } = metadata['annotations']
  return { ...manifest, metadata: { ...metadata, annotations } }
}

function bytes(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0
}

/** JSON as Go writes it: sorted fields, with `<`, `>` and `&` escaped. */
function goJson(value: unknown): string {
  const unsafe = /[<>&\u2028\u2029]/g
  return JSON.stringify(sorted(value)).replaceAll(
    unsafe,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isJsonObject(value)) return value
  const fields = Object.keys(value).sort()
  return Object.fromEntries(fields.map((field) => [field, sorted(value[field])]))
}
