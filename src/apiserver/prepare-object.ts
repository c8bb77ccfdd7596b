import { type FieldError, forbidden, invalid } from '../resources/field-error.ts'
import type { Kind } from '../resources/kind.ts'
import { type KubernetesObject, type ObjectMeta, timestamp } from '../resources/kubernetes-object.ts'
import { StatusError, conflict, invalidObject } from '../resources/status-error.ts'
import { checkImmutable } from './immutable-fields.ts'
import { type JsonObject, isJsonObject, sameJson } from './json-value.ts'
import { checkMetadata } from './names.ts'
import { type Envelope, type FieldValidation, parseObject, readEnvelope } from './object-decode.ts'
import { completeObject, initialStatus, namespaceFinalizer } from './object-defaults.ts'

export interface Reading {
  readonly fieldValidation: FieldValidation
  readonly warn: (warning: string) => void
}

export interface Birth extends Reading {
  readonly namespace: string | undefined
  readonly uid: string
  readonly now: number
  /** What is put behind `generateName`. */
  readonly nameSuffix: string
}

/** What arrives at a create → what is stored. */
export function prepareCreate(kind: Kind, input: unknown, birth: Birth): KubernetesObject {
  const envelope = readEnvelope(kind, input)
  if (envelope.metadata['resourceVersion'] !== undefined && envelope.metadata['resourceVersion'] !== '') {
    throw new StatusError('BadRequest', 'resourceVersion should not be set on objects to be created')
  }
  const named = { ...envelope, metadata: metadataAtBirth(kind, envelope.metadata, birth) }
  const status = kind.hasStatus ? { status: initialStatus(kind, envelope['status']) } : {}
  const completed = completeObject(kind, { ...named, ...status })
  const object = parseObject(
    kind,
    isNamespace(kind) ? withFinalizer(completed) : completed,
    birth.fieldValidation,
    birth.warn,
  )
  refuseInvalid(kind, object, [...checkMetadata(kind, object.metadata), ...(kind.validate?.(object, undefined) ?? [])])
  return object
}

function metadataAtBirth(kind: Kind, sent: JsonObject, birth: Birth): JsonObject {
  const { deletionTimestamp: _at, deletionGracePeriodSeconds: _grace, ...kept } = sent
  checkNamespaceOfRequest(kind, sent['namespace'], birth.namespace)
  const { name, generateName } = sent
  const generated = typeof generateName === 'string' && generateName !== '' && (name === undefined || name === '')
  return {
    ...kept,
    // Generated names stay within 63 characters, whatever the prefix.
    ...(generated && { name: generateName.slice(0, 58) + birth.nameSuffix }),
    namespace: kind.namespaced ? birth.namespace : undefined,
    uid: birth.uid,
    creationTimestamp: timestamp(birth.now),
    generation: tracksGeneration(kind) ? 1 : undefined,
    resourceVersion: undefined,
  }
}

function checkNamespaceOfRequest(kind: Kind, sent: unknown, requested: string | undefined): void {
  if (sent === undefined || sent === null || sent === '') return
  if (kind.namespaced && sent === requested) return
  throw new StatusError(
    'BadRequest',
    'the namespace of the provided object does not match the namespace sent on the request',
  )
}

function withFinalizer(namespace: Envelope): Envelope {
  return {
    ...namespace,
    spec: { ...(isJsonObject(namespace['spec']) ? namespace['spec'] : {}), finalizers: [namespaceFinalizer] },
  }
}

/** What arrives at an update → what is stored in place of `current`. The status stays as it is. */
export function prepareUpdate(
  kind: Kind,
  input: unknown,
  current: KubernetesObject,
  reading: Reading,
): KubernetesObject {
  const envelope = readEnvelope(kind, input)
  checkIdentity(kind, envelope.metadata, current)
  const metadata = { ...envelope.metadata, ...fixedMetadata(current.metadata) }
  const kept: Record<string, unknown> = { ...envelope, metadata }
  if (kind.hasStatus) kept['status'] = current['status']
  if (isNamespace(kind)) kept['spec'] = current['spec']
  const completed = completeObject(kind, readEnvelope(kind, kept))
  const object = parseObject(kind, completed, reading.fieldValidation, reading.warn)
  const changed = tracksGeneration(kind) && !sameJson(contentOf(object), contentOf(current))
  const next = changed ? withGeneration(object, (current.metadata.generation ?? 0) + 1) : object
  refuseInvalid(kind, next, [
    ...checkMetadata(kind, next.metadata),
    ...checkFinalizersOfDeleted(next, current),
    ...checkImmutable(kind, next, current),
    ...(kind.validate?.(next, current) ?? []),
  ])
  return next
}

/** What arrives at the status subresource → the object with only its status replaced. */
export function prepareStatus(
  kind: Kind,
  input: unknown,
  current: KubernetesObject,
  reading: Reading,
): KubernetesObject {
  const envelope = readEnvelope(kind, input)
  checkIdentity(kind, envelope.metadata, current)
  const next = readEnvelope(kind, { ...current, status: envelope['status'] ?? undefined })
  const object = parseObject(kind, next, reading.fieldValidation, reading.warn)
  refuseInvalid(kind, object, kind.validate?.(object, current) ?? [])
  return object
}

/** Name, namespace, uid and version of what was sent must be those of the object it is meant for. */
function checkIdentity(kind: Kind, sent: JsonObject, current: KubernetesObject): void {
  const { name, uid, resourceVersion } = current.metadata
  if (sent['name'] !== undefined && sent['name'] !== '' && sent['name'] !== name) {
    const why = `the name of the object (${JSON.stringify(sent['name']).slice(0, 253)}) does not match the name on the URL (${name})`
    throw new StatusError('BadRequest', why)
  }
  checkNamespaceOfRequest(kind, sent['namespace'], current.metadata.namespace)
  if (typeof sent['uid'] === 'string' && sent['uid'] !== '' && sent['uid'] !== uid) {
    throw conflict(kind, name, `Precondition failed: UID in precondition: ${sent['uid']}, UID in object meta: ${uid}`)
  }
  const version = sent['resourceVersion']
  if (version === undefined || version === null || version === '' || version === '0') {
    // Ours are CustomResources elsewhere, and those must say what they replace.
    if (kind.unknownFields === 'prune') {
      throw invalidObject(kind, name, [invalid('metadata.resourceVersion', 0, 'must be specified for an update')])
    }
  } else if (version !== resourceVersion) throw conflict(kind, name)
}

function fixedMetadata(current: ObjectMeta): Partial<ObjectMeta> {
  const { name, namespace, uid, creationTimestamp, generation, generateName } = current
  const { deletionTimestamp, deletionGracePeriodSeconds, resourceVersion } = current
  return {
    name,
    namespace,
    uid,
    creationTimestamp,
    generation,
    generateName,
    deletionTimestamp,
    deletionGracePeriodSeconds,
    resourceVersion,
  }
}

function checkFinalizersOfDeleted(next: KubernetesObject, current: KubernetesObject): FieldError[] {
  if (current.metadata.deletionTimestamp === undefined) return []
  const before = new Set(current.metadata.finalizers)
  const added = (next.metadata.finalizers ?? []).filter((name) => !before.has(name))
  if (added.length === 0) return []
  const list = added.map((name) => JSON.stringify(name)).join(', ')
  const why = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`
  return [forbidden('metadata.finalizers', why)]
}

/** Everything that is neither metadata nor status: what a generation counts the changes of. */
function contentOf(object: KubernetesObject): JsonObject {
  const { metadata: _metadata, status: _status, ...content } = object
  return content
}

function withGeneration(object: KubernetesObject, generation: number): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, generation } }
}

function tracksGeneration(kind: Kind): boolean {
  return kind.unknownFields === 'prune' || (kind.group === '' && kind.kind === 'Pod')
}

function isNamespace(kind: Kind): boolean {
  return kind.group === '' && kind.kind === 'Namespace'
}

export function refuseInvalid(kind: Kind, object: KubernetesObject, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject(kind, object.metadata.name, errors)
}
