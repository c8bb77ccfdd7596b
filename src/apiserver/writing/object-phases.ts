import { randomUUID } from 'node:crypto'
import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError, conflict } from '../../resources/status-error.ts'
import type { ApplyPatch, PatchInPhases, Subresource, WriteOptions } from '../api-requests.ts'
import { mostValuesOf, refuseGrowth } from '../bodies/body-values.ts'
import { judgeDefinition, isDefinition } from '../custom-resources/check-definition.ts'
import { isJsonObject, valueAtPath } from '../../resources/json-value.ts'
import { randomSuffix } from './name-suffix.ts'
import type { Reading } from './object-decode.ts'
import { prepareCreate, prepareEphemeralContainers, prepareStatus, prepareUpdate } from './prepare-object.ts'
import { scaleOf, scalePathsOf, withReplicas } from './scale.ts'
import {
  trackChanged,
  trackCreated,
  withAppliedManagers,
  withoutManagers,
} from '../server-side-apply/managers/field-tracking.ts'
import type { Phases } from './write-phases.ts'

/** A write of one object, regardless of everything else in its cluster. */
export interface ObjectWrite {
  readonly kind: Kind
  /** What was sent, or the result of a patch. */
  readonly input: unknown
  readonly options: WriteOptions
  readonly now: number
}

export interface ObjectChange extends ObjectWrite {
  readonly current: KubernetesObject
  readonly subresource: Subresource | undefined
  readonly isPatch?: boolean | undefined
}

/** A new object as it would be stored: decoded, completed, validated, and with its managed fields. */
export function* newObject(write: ObjectWrite & { readonly namespace: string | undefined }): Phases<KubernetesObject> {
  const { kind, input, options, now } = write
  const prepared = yield* prepareCreate(kind, contentOf(write), {
    ...readingOf(options),
    namespace: kind.namespaced ? write.namespace : undefined,
    uid: randomUUID(),
    now,
    nameSuffix: randomSuffix(),
  })
  yield
  if (isDefinition(kind)) yield* judgeDefinition(prepared, undefined)
  yield
  const tracked = options.applied
    ? withAppliedManagers(prepared, input)
    : trackCreated(kind, input, prepared, writerOf(write))
  yield
  return tracked
}

/** The same for an object that replaces an existing one. */
export function* changedObject(change: ObjectChange): Phases<KubernetesObject> {
  const { kind, current, input, options, subresource } = change
  const next = yield* prepared(change)
  yield
  if (isDefinition(kind) && !subresource) yield* judgeDefinition(next, current)
  yield
  const tracked = options.applied
    ? withAppliedManagers(next, input)
    : trackChanged(kind, { current, sent: input, next, subresource }, writerOf(change))
  yield
  return tracked
}

/** The same for the result of a patch. */
export function* patchedObject(
  change: Omit<ObjectChange, 'input'>,
  apply: ApplyPatch | PatchInPhases,
): Phases<KubernetesObject> {
  const { kind, current, options, subresource } = change
  const before = subresource === 'scale' ? scaleOf(scalePathsOf(kind), current) : current
  const after = typeof apply === 'function' ? apply(before, current) : yield* apply.phases(before, current)
  yield
  if (isJsonObject(after)) refuseGrowth(() => withoutManagers(current), withoutManagers(after), mostValuesOf(kind))
  return yield* changedObject({ ...change, input: after, isPatch: !options.applied })
}

function* prepared(change: ObjectChange): Phases<KubernetesObject> {
  const { kind, current, input, options, subresource, isPatch } = change
  const reading = { ...readingOf(options), isPatch }
  switch (subresource) {
    case undefined:
      return yield* prepareUpdate(kind, contentOf(change), current, reading)
    case 'status':
      if (!kind.hasStatus) throw new StatusError('NotFound', 'the server could not find the requested resource')
      return yield* prepareStatus(kind, contentOf(change), current, reading)
    case 'ephemeralcontainers':
      return yield* prepareEphemeralContainers(kind, contentOf(change), current, reading)
    case 'scale': {
      const version = valueAtPath(input, ['metadata', 'resourceVersion'])
      if (version && version !== current.metadata.resourceVersion) throw conflict(kind, current.metadata.name)
      const scaled = withReplicas(scalePathsOf(kind), current, valueAtPath(input, ['spec', 'replicas']) ?? 0)
      return yield* prepareUpdate(kind, scaled, current, reading)
    }
    default:
      return { ...current, spec: { finalizers: valueAtPath(input, ['spec', 'finalizers']) ?? [] } }
  }
}

/** An applied object carries its managers, which are not part of what is decoded. */
function contentOf({ input, options }: ObjectWrite): unknown {
  return options.applied && isJsonObject(input) ? withoutManagers(input) : input
}

function writerOf({ options: { manager = 'unknown' }, now }: ObjectWrite) {
  return { manager, now }
}

function readingOf({ fieldValidation = 'Ignore', warn = () => {}, duplicates }: WriteOptions): Reading {
  return { fieldValidation, warn, duplicates }
}
