import { fieldErrorsOf } from '../resources/field-error.ts'
import { type Kind, apiVersionOf } from '../resources/kind.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { StatusError, invalidObject } from '../resources/status-error.ts'
import { type JsonObject, isJsonObject } from './json-value.ts'

/** What becomes of fields that a kind does not know: dropped silently, with a warning, or refused. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export interface Envelope extends JsonObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: JsonObject
}

/** Everything ObjectMeta has. `selfLink` and `managedFields` are known, but not kept: see server-side apply. */
const metadataFields = new Set([
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
])
const metadataNotKept = new Set(['selfLink', 'managedFields'])

/** The outer shape that every object has, checked against the kind the URL names. Nothing inside is looked at yet. */
export function readEnvelope(kind: Kind, input: unknown): Envelope {
  if (!isJsonObject(input)) throw new StatusError('BadRequest', 'the object provided is not a JSON object')
  const { apiVersion = '', kind: kindName = '', metadata } = input
  const expected = apiVersionOf(kind)
  if (apiVersion !== '' && apiVersion !== expected) {
    throw new StatusError(
      'BadRequest',
      `the API version in the data (${textOf(apiVersion)}) does not match the expected API version (${expected})`,
    )
  }
  if (kindName !== '' && kindName !== kind.kind) {
    throw new StatusError(
      'BadRequest',
      `the kind in the data (${textOf(kindName)}) does not match the expected kind (${kind.kind})`,
    )
  }
  if (metadata !== undefined && metadata !== null && !isJsonObject(metadata)) {
    throw new StatusError('BadRequest', 'metadata must be an object')
  }
  return { ...input, apiVersion: expected, kind: kind.kind, metadata: metadata ?? {} }
}

/** Applies the kind's schema: types, required fields, defaults, unknown fields. Throws Invalid, or BadRequest under Strict. */
export function parseObject(
  kind: Kind,
  input: Envelope,
  validation: FieldValidation,
  warn: (warning: string) => void,
): KubernetesObject {
  const { kept: metadata, unknown } = splitMetadata(input.metadata)
  const candidate = withoutNulls({ ...input, metadata: { ...metadata, name: metadata['name'] ?? '' } })
  const parsed = kind.schema.safeParse(candidate)
  if (!parsed.success) {
    const name = metadata['name']
    throw invalidObject(kind, typeof name === 'string' ? name : '', fieldErrorsOf(parsed.error, candidate))
  }
  if (validation !== 'Ignore') {
    const paths = [...unknown, ...droppedFields(candidate, parsed.data, '')]
    const warnings = paths.map((path) => `unknown field "${path}"`)
    if (validation === 'Strict' && warnings.length > 0) {
      const where = `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}`
      throw new StatusError('BadRequest', `${where}: strict decoding error: ${warnings.join(', ')}`)
    }
    for (const warning of warnings) warn(warning)
  }
  return parsed.data
}

function splitMetadata(metadata: JsonObject): { kept: JsonObject; unknown: string[] } {
  const kept: Record<string, unknown> = {}
  const unknown: string[] = []
  for (const [field, value] of Object.entries(metadata)) {
    if (!metadataFields.has(field)) unknown.push(`metadata.${field}`)
    else if (!metadataNotKept.has(field) && !isEmpty(value)) kept[field] = value
  }
  return { kept, unknown }
}

/** Labels, annotations, finalizers or owners of which there are none are not there. */
function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** `null` means "not there", as it does to Kubernetes: clients write `creationTimestamp: null` and `status: null`. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item))
  if (!isJsonObject(value)) return value
  const kept: Record<string, unknown> = {}
  for (const [field, inner] of Object.entries(value)) {
    if (inner !== null && inner !== undefined && field !== '__proto__') kept[field] = withoutNulls(inner)
  }
  return kept
}

/** Paths that the schema dropped. */
function droppedFields(before: unknown, after: unknown, path: string): string[] {
  if (Array.isArray(before) && Array.isArray(after)) {
    return before.flatMap((item, index) => droppedFields(item, after[index], `${path}[${index}]`))
  }
  if (!isJsonObject(before) || !isJsonObject(after)) return []
  return Object.entries(before).flatMap(([field, value]) => {
    const inner = path === '' ? field : `${path}.${field}`
    return Object.hasOwn(after, field) ? droppedFields(value, after[field], inner) : [inner]
  })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 200) : JSON.stringify(value).slice(0, 200)
}
