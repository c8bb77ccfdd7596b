import { invalid } from '../../resources/field-error.ts'
import { type Kind, apiVersionOf } from '../../resources/kind.ts'
import type { Envelope } from '../../resources/kind-facts.ts'
import { objectMetaFields } from '../../resources/object-meta-fields.ts'
import type { StructuralSchema } from '../../resources/structural-schema.ts'
import { StatusError, invalidObject } from '../../resources/status-error.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'
import { applyDefaults } from '../structural/apply-defaults.ts'
import { DecodingProblem, checkTypes } from '../structural/core-decode.ts'
import { prune } from '../structural/prune.ts'
import type { Phases } from './write-phases.ts'

/** What happens to unknown fields: they are dropped silently, dropped with a warning, or refused. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict'

export interface Reading {
  readonly fieldValidation: FieldValidation
  readonly warn: (warning: string) => void
  /** The input is the result of a patch, so errors are the patch's. */
  readonly isPatch?: boolean | undefined
  /** Fields that occur more than once in the body, which only its text can tell; called only when it matters. */
  readonly duplicates?: (() => readonly string[]) | undefined
}

/** Known, but not taken from the client; see server-side apply. */
const metadataNotKept = new Set(['selfLink', 'managedFields'])
const mostWarnings = 64

/**
 * Turns what arrives into an object of its kind's shape. Wrong types are refused for Kubernetes' own kinds (a custom
 * kind's schema judges them later, with the rest), unknown fields are dropped, and custom kinds get their defaults.
 * What is the very same object in `current`, as it is stored, came this way before and is skipped: a patch leaves most
 * of an object as it is.
 */
export function* decodeObject(kind: Kind, input: unknown, reading: Reading, current?: JsonObject): Phases<Envelope> {
  const envelope = readEnvelope(kind, input, reading)
  const isCustom = kind.origin === 'custom'
  const fields = kind.fields()
  try {
    if (isCustom) checkTypes(objectMetaFields, envelope.metadata, 'ObjectMeta', current?.['metadata'])
    else checkTypes(fields, envelope, kind.kind, current)
  } catch (error) {
    if (!(error instanceof DecodingProblem)) throw error
    throw refusal(kind, error.message, reading)
  }
  yield
  const unknown: string[] = []
  // A definition may have changed since the object was stored; only the schema of its metadata never does.
  const done = isCustom ? current && { metadata: current['metadata'] } : current
  const pruned = prune(resourceSchema(fields), envelope, (path) => unknown.push(path), '', done)
  report(kind, unknown, reading)
  yield
  const shaped = isCustom ? applyDefaults(fields, pruned) : withoutNulls(pruned, current)
  // The envelope is a copy of what was sent, so it can be changed in place.
  return Object.assign(isJsonObject(shaped) ? shaped : {}, typed(kind), { metadata: keptMetadata(shaped) })
}

const resourceSchemas = new WeakMap<StructuralSchema, StructuralSchema>()

/** A CustomResourceDefinition need not mention apiVersion, kind and metadata. */
function resourceSchema(fields: StructuralSchema): StructuralSchema {
  const known = resourceSchemas.get(fields)
  if (known) return known
  const { metadata: _vague, ...properties } = fields.properties ?? {}
  const isNamed = fields.properties?.['metadata']?.['x-sluice-type-name'] !== undefined
  const made = isNamed ? fields : { ...fields, properties, 'x-kubernetes-embedded-resource': true }
  resourceSchemas.set(fields, made)
  return made
}

function typed(kind: Kind): { apiVersion: string; kind: string } {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind }
}

/** The outer shape of every object, checked against the kind in the URL. Nothing inside is looked at yet. */
function readEnvelope(kind: Kind, input: unknown, reading: Reading): Envelope {
  if (!isJsonObject(input)) throw new StatusError('BadRequest', 'the object provided is not a JSON object')
  const { apiVersion = '', kind: kindName = '', metadata } = input
  const expected = apiVersionOf(kind)
  if (apiVersion !== '' && apiVersion !== expected) throw otherVersion(kind, apiVersion, metadata, reading)
  if (kindName !== '' && kindName !== kind.kind) throw otherKind(kind, kindName, metadata, reading)
  if (metadata !== undefined && metadata !== null && !isJsonObject(metadata)) {
    const found = Array.isArray(metadata) ? 'array' : typeof metadata
    const why = `json: cannot unmarshal ${found} into Go value of type v1.ObjectMeta`
    throw refusal(kind, why, reading)
  }
  return { ...input, ...typed(kind), metadata: metadata ?? {} }
}

function otherVersion(kind: Kind, sent: unknown, metadata: unknown, reading: Reading): StatusError {
  const expected = apiVersionOf(kind)
  if (!reading.isPatch) {
    const why = `the API version in the data (${textOf(sent)}) does not match the expected API version (${expected})`
    return new StatusError('BadRequest', why)
  }
  if (kind.origin === 'core') return refusal(kind, notRegistered(kind.kind, sent), reading)
  return invalidObject(kind, nameIn(metadata), [invalid('apiVersion', sent, `must be ${expected}`)])
}

function otherKind(kind: Kind, sent: unknown, metadata: unknown, reading: Reading): StatusError {
  if (kind.origin === 'custom') {
    const { group, plural } = kind
    const faults = [invalid('kind', sent, `must be ${kind.kind}`)]
    return invalidObject({ group, plural, kind: textOf(sent) }, nameIn(metadata), faults)
  }
  if (reading.isPatch) return refusal(kind, notRegistered(sent, apiVersionOf(kind)), reading)
  const why = `the kind in the data (${textOf(sent)}) does not match the expected kind (${kind.kind})`
  return new StatusError('BadRequest', why)
}

/** Reports fields that are repeated or unknown, as the client wishes. */
function report(kind: Kind, unknown: readonly string[], reading: Reading): void {
  const { fieldValidation, warn, duplicates } = reading
  if (fieldValidation === 'Ignore') return
  const repeated = duplicates?.() ?? []
  if (repeated.length === 0 && unknown.length === 0) return
  const warnings = [
    ...repeated.map((path) => `duplicate field "${path}"`),
    ...unknown.toSorted().map((path) => `unknown field "${path}"`),
  ].slice(0, mostWarnings)
  if (fieldValidation === 'Strict' && warnings.length > 0) {
    throw refusal(kind, `strict decoding error: ${warnings.join(', ')}`, reading)
  }
  for (const warning of warnings) warn(warning)
}

/** A body that cannot be read is a bad request; the result of a patch that cannot be read is invalid. */
function refusal(kind: Kind, why: string, { isPatch }: Reading): StatusError {
  // The result of the patch is not quoted: it may be a Secret.
  if (isPatch) return invalidObject({ group: '', plural: '', kind: '' }, '', [invalid('patch', '', why)])
  const where = `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}`
  return new StatusError('BadRequest', `${where}: ${why}`)
}

function notRegistered(kind: unknown, version: unknown): string {
  return `no kind "${textOf(kind)}" is registered for version "${textOf(version)}"`
}

function nameIn(metadata: unknown): string {
  return isJsonObject(metadata) ? textOf(metadata['name']) : ''
}

/** Empty labels, annotations, finalizers and owners are left out. */
function keptMetadata(object: unknown): JsonObject {
  const metadata = isJsonObject(object) && isJsonObject(object['metadata']) ? object['metadata'] : {}
  const kept: Record<string, unknown> = {}
  for (const field of Object.keys(metadata)) {
    const value = metadata[field]
    if (!metadataNotKept.has(field) && !isEmpty(value)) kept[field] = value
  }
  return kept
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === null
  for (const _field in value) return false
  return true
}

/** `null` means "not set", as in Kubernetes: clients write `creationTimestamp: null` and `status: null`. */
function withoutNulls(value: unknown, current?: unknown): unknown {
  if (Array.isArray(value)) return itemsWithoutNulls(value)
  if (!isJsonObject(value)) return value
  const done = isJsonObject(current) ? current : nothing
  let kept: Record<string, unknown> | undefined
  for (const field of Object.keys(value)) {
    const before = value[field]
    if (before === null || before === undefined || field === '__proto__') {
      kept ??= { ...value }
      delete kept[field]
      continue
    }
    if (typeof before !== 'object' || before === done[field]) continue
    const after = withoutNulls(before, done[field])
    if (after === before) continue
    kept ??= { ...value }
    kept[field] = after
  }
  return kept ?? value
}

function itemsWithoutNulls(items: readonly unknown[]): readonly unknown[] {
  let kept: unknown[] | undefined
  for (const [index, before] of items.entries()) {
    const after = withoutNulls(before)
    if (after === before) continue
    kept ??= [...items]
    kept[index] = after
  }
  return kept ?? items
}

const nothing: JsonObject = {}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 253) : (JSON.stringify(value)?.slice(0, 253) ?? '')
}
