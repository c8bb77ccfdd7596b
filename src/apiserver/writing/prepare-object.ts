import { type FieldError, forbidden, invalid } from '../../resources/field-error.ts'
import type { Kind } from '../../resources/kind.ts'
import { type KubernetesObject, type ObjectMeta, timestamp } from '../../resources/kubernetes-object.ts'
import { StatusError, conflict, invalidObject } from '../../resources/status-error.ts'
import { type JsonObject, isJsonObject, sameJson } from '../../resources/json-value.ts'
import { checkEphemeralContainersKept } from '../../resources/validation/ephemeral-container-rules.ts'
import { type Envelope, metadataWithStatus } from '../../resources/kind-facts.ts'
import { checkMetadata } from './names.ts'
import { type Reading, decodeObject } from './object-decode.ts'
import { checkObject } from '../structural/check-object.ts'
import { completeObject, initialStatus } from './object-defaults.ts'
import type { Phases } from './write-phases.ts'

export type { Reading }

export interface Birth extends Reading {
  readonly namespace: string | undefined
  readonly uid: string
  readonly now: number
  /** What is appended to `generateName`. */
  readonly nameSuffix: string
}

/** Turns the input of a create into what is stored. */
export function* prepareCreate(kind: Kind, input: unknown, birth: Birth): Phases<KubernetesObject> {
  const envelope = yield* decodeObject(kind, input, birth)
  yield
  if (envelope.metadata['resourceVersion'] !== undefined && envelope.metadata['resourceVersion'] !== '') {
    throw new StatusError('BadRequest', 'resourceVersion should not be set on objects to be created')
  }
  const named = Object.assign(envelope, { metadata: metadataAtBirth(kind, envelope.metadata, birth) })
  const status = kind.hasStatus ? { status: initialStatus(kind, named, envelope['status']) } : {}
  const object = typedObject(completeObject(kind, Object.assign(named, status)))
  yield
  refuseInvalid(kind, object, [
    ...checkMetadata(kind, object.metadata),
    ...(yield* checkContent(kind, object, undefined)),
  ])
  return object
}

/**
 * For a custom kind, the schema and the rules in it say everything, since a real API server would know nothing else of
 * it.
 */
function* checkContent(
  kind: Kind,
  object: KubernetesObject,
  previous: KubernetesObject | undefined,
): Phases<readonly FieldError[]> {
  if (kind.origin === 'custom') return yield* checkObject(kind.fields(), object, previous)
  return kind.validate?.(object, previous) ?? []
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

/** Turns the input of an update into what replaces `current`. The status stays as it is. */
export function* prepareUpdate(
  kind: Kind,
  input: unknown,
  current: KubernetesObject,
  reading: Reading,
): Phases<KubernetesObject> {
  const envelope = yield* decodeReplacement(kind, input, current, reading)
  const renamed = checkUid(envelope.metadata, current)
  const metadata = { ...envelope.metadata, ...fixedMetadata(current.metadata) }
  const status = kind.hasStatus ? { status: current['status'] } : {}
  const next = nextGeneration(kind, Object.assign(envelope, status, { metadata }), current)
  yield
  refuseInvalid(kind, next, [
    ...checkMetadata(kind, next.metadata),
    ...renamed,
    ...checkFinalizersOfDeleted(next, current),
    ...changesOfFixed(kind, next, current),
    ...(yield* checkContent(kind, next, current)),
  ])
  return next
}

/**
 * What an older version has stored lacks the defaults that came later. Kubernetes adds them whenever it reads an
 * object; here they only matter where something seems to change by them.
 */
function changesOfFixed(kind: Kind, next: KubernetesObject, current: KubernetesObject): FieldError[] {
  const changesOf = (before: KubernetesObject) => (kind.immutable ?? []).flatMap((rule) => rule(next, before))
  const changes = changesOf(current)
  return changes.length === 0 ? changes : changesOf(typedObject(completeObject(kind, current)))
}

/**
 * Turns the input of the status subresource into the object with only its status replaced; for core kinds, some
 * metadata as well.
 */
export function* prepareStatus(
  kind: Kind,
  input: unknown,
  current: KubernetesObject,
  reading: Reading,
): Phases<KubernetesObject> {
  const envelope = yield* decodeReplacement(kind, input, current, reading)
  const metadata = metadataBesideStatus(kind, envelope.metadata, current.metadata)
  const object = typedObject({ ...current, metadata, status: envelope['status'] ?? undefined })
  // Of a custom kind nothing but the status is read, not even which object it was meant for.
  const renamed = kind.origin === 'custom' ? [] : checkUid(envelope.metadata, current)
  const faults = metadata === current.metadata ? [] : checkMetadata(kind, object.metadata)
  refuseInvalid(kind, object, [...faults, ...renamed, ...(yield* checkContent(kind, object, current))])
  return object
}

/** Turns the input of a Pod's `ephemeralcontainers` subresource into the Pod with only these replaced. */
export function* prepareEphemeralContainers(
  kind: Kind,
  input: unknown,
  current: KubernetesObject,
  reading: Reading,
): Phases<KubernetesObject> {
  const envelope = yield* decodeReplacement(kind, input, current, reading)
  const [sent, before] = [envelope['spec'], current['spec']].map((spec) => (isJsonObject(spec) ? spec : {}))
  const spec = { ...before, ephemeralContainers: withoutRestarts(sent?.['ephemeralContainers']) }
  const next = nextGeneration(kind, { ...current, spec }, current)
  yield
  refuseInvalid(kind, next, [
    ...checkUid(envelope.metadata, current),
    ...(yield* checkContent(kind, next, current)),
    ...checkEphemeralContainersKept(isJsonObject(next['spec']) ? next['spec'] : {}, before ?? {}),
  ])
  return next
}

/** Decodes what was sent in place of `current`, and makes sure that it is meant for this object. */
function* decodeReplacement(kind: Kind, input: unknown, current: KubernetesObject, reading: Reading): Phases<Envelope> {
  const envelope = yield* decodeObject(kind, input, reading, current)
  yield
  checkIdentity(kind, envelope.metadata, current, reading)
  return envelope
}

/** The object with its defaults, and with a new generation if it differs from `current` in more than its metadata. */
function nextGeneration(kind: Kind, replacement: Envelope, current: KubernetesObject): KubernetesObject {
  const object = typedObject(completeObject(kind, replacement, current))
  const changed = tracksGeneration(kind) && !sameJson(contentOf(kind, object), contentOf(kind, current))
  if (!changed) return object
  return { ...object, metadata: { ...object.metadata, generation: (current.metadata.generation ?? 0) + 1 } }
}

/** Ephemeral containers are never restarted: Kubernetes ignores their restart policies here. */
function withoutRestarts(containers: unknown): unknown {
  if (!Array.isArray(containers)) return undefined
  return containers.map((container: unknown) => {
    if (!isJsonObject(container)) return container
    const { restartPolicy: _policy, restartPolicyRules: _rules, ...rest } = container
    return rest
  })
}

/** A status write may change metadata for core kinds, but not for custom ones. */
function metadataBesideStatus(kind: Kind, sent: JsonObject, current: ObjectMeta): ObjectMeta {
  if (kind.origin === 'custom') return current
  const { keptByStatus = [] } = kind
  const written = metadataWithStatus.filter((field) => !keptByStatus.includes(field))
  const changed = written.filter((field) => !sameJson(sent[field], current[field]))
  if (changed.length === 0) return current
  return { ...current, ...Object.fromEntries(changed.map((field) => [field, sent[field]])) }
}

/**
 * Name, namespace, uid and version, where they were sent, must be those of the current object. What a patch says of the
 * uid is judged with all the other fields.
 */
function checkIdentity(kind: Kind, sent: JsonObject, current: KubernetesObject, { isPatch }: Reading): void {
  const { name, uid, resourceVersion } = current.metadata
  if (sent['name'] !== undefined && sent['name'] !== '' && sent['name'] !== name) {
    const shown = typeof sent['name'] === 'string' ? sent['name'] : JSON.stringify(sent['name'])
    const why = `the name of the object (${shown.slice(0, 253)}) does not match the name on the URL (${name})`
    throw new StatusError('BadRequest', why)
  }
  checkNamespaceOfRequest(kind, sent['namespace'], current.metadata.namespace)
  if (!isPatch && isOtherUid(sent['uid'], uid)) {
    throw conflict(kind, name, `Precondition failed: UID in precondition: ${sent['uid']}, UID in object meta: ${uid}`)
  }
  const version = sent['resourceVersion']
  if (version === undefined || version === null || version === '' || version === '0') {
    // Our kinds are CustomResources elsewhere, where an update must say which version it replaces.
    if (kind.origin === 'custom') {
      throw invalidObject(kind, name, [invalid('metadata.resourceVersion', 0, 'must be specified for an update')])
    }
  } else if (version !== resourceVersion) throw conflict(kind, name)
}

/** Reached by patches only: a replacement that names another uid is refused before. */
function checkUid({ uid }: JsonObject, current: KubernetesObject): FieldError[] {
  return isOtherUid(uid, current.metadata.uid) ? [invalid('metadata.uid', uid, 'field is immutable')] : []
}

function isOtherUid(sent: unknown, uid: string | undefined): sent is string {
  return typeof sent === 'string' && sent !== '' && sent !== uid
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

/** Everything that is neither metadata nor status: a change of it makes a new generation. */
function contentOf(kind: Kind, object: KubernetesObject): JsonObject {
  const { metadata: _metadata, status, ...content } = object
  const { notInGeneration } = kind
  if (notInGeneration !== undefined) return { ...content, spec: without(notInGeneration, content['spec']) }
  // Without a subresource of its own, the status is ordinary content.
  return kind.hasStatus || kind.origin === 'core' ? content : { ...content, status }
}

function without(field: string, spec: unknown): unknown {
  if (!isJsonObject(spec)) return spec
  const { [field]: _left, ...rest } = spec
  return rest
}

function tracksGeneration(kind: Kind): boolean {
  return kind.origin === 'custom' || kind.hasGeneration === true
}

/** Decoding has checked the types; only the name may still be missing, which validation reports. */
function typedObject(object: Envelope): KubernetesObject {
  return isNamed(object) ? object : { ...object, metadata: { ...object.metadata, name: '' } }
}

function isNamed(object: Envelope): object is Envelope & KubernetesObject {
  return typeof object.metadata['name'] === 'string'
}

export function refuseInvalid(kind: Kind, object: KubernetesObject, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject(kind, object.metadata.name, errors)
}
