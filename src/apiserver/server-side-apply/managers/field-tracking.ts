import { coreSchema } from '../../../resources/facts/core-facts.ts'
import type { Kind } from '../../../resources/kind.ts'
import type { KubernetesObject } from '../../../resources/kubernetes-object.ts'
import { type JsonObject, sameJson, valueAtPath } from '../../../resources/json-value.ts'
import { scaleOf, scalePathsOf } from '../../writing/scale.ts'
import { applyObject } from '../apply-object.ts'
import { shapeOf } from '../fields/field-shape.ts'
import { type Managers, managersOf, writeManagers } from './managed-fields.ts'
import { managersOfScale, managersOfScaled } from './scale-managers.ts'
import { managersBefore, metadataOf, trackUpdate } from './track-update.ts'
import type { Phases } from '../../writing/write-phases.ts'
import { type TrackedKind, countedAtBirth, countedFields, trackedKind } from './tracked-kind.ts'

export interface Writer {
  readonly manager: string
  readonly now: number
}

/** A new object with its managed fields, which belong to whoever created it. */
export function trackCreated(kind: Kind, sent: unknown, next: KubernetesObject, writer: Writer): KubernetesObject {
  const tracked = trackedKind(kind)
  const before = managersBefore(undefined, managedFieldsOf(sent))
  const filter = countedAtBirth(tracked, sent)
  return withManagers(next, trackUpdate(before, { kind: tracked, current: undefined, next, filter, ...writer }))
}

export interface Written {
  readonly current: KubernetesObject
  /** As the client sent it. */
  readonly sent: unknown
  readonly next: KubernetesObject
  readonly subresource?: string | undefined
}

/** A changed object with its managed fields: what was changed belongs to whoever changed it. */
export function trackChanged(kind: Kind, written: Written, writer: Writer): KubernetesObject {
  const { current, sent, next, subresource } = written
  if (subresource === 'scale') return trackScaled(kind, written, writer)
  const tracked = trackedKind(kind)
  const before = managersBefore(current, managedFieldsOf(sent), subresource)
  const filter = countedFields(tracked, subresource)
  const after = trackUpdate(before, { kind: tracked, current, next, subresource, filter, ...writer })
  return withManagers(next, after, current)
}

function trackScaled(kind: Kind, { current, next }: Written, writer: Writer): KubernetesObject {
  const paths = scalePathsOf(kind)
  const replicasPath = segments(paths.specReplicasPath)
  const before = managersOf(current.metadata.managedFields)
  const unchanged = sameJson(valueAtPath(current, replicasPath), valueAtPath(next, replicasPath))
  if (unchanged || before.size === 0) return withManagers(next, before, current)
  const ofScale = trackUpdate(managersOfScale(before, replicasPath), {
    kind: scaleKind(),
    current: scaleOf(paths, current),
    next: scaleOf(paths, next),
    subresource: 'scale',
    filter: (fields) => fields,
    ...writer,
  })
  const { apiVersion } = trackedKind(kind)
  return withManagers(next, managersOfScaled(before, ofScale, { apiVersion, replicasPath }), current)
}

export interface AppliedManifest {
  /** The existing object, if there is one; for the scale subresource, the object that is scaled. */
  readonly current: KubernetesObject | undefined
  readonly manifest: JsonObject
  readonly force: boolean
  readonly subresource?: string | undefined
}

/** What to write when a manifest is applied: the merged object with its managers in `metadata.managedFields`. */
export function* applyTo(kind: Kind, applied: AppliedManifest, writer: Writer): Phases<JsonObject> {
  const { current, manifest, force, subresource } = applied
  const managers = managersOf(current?.metadata.managedFields)
  if (subresource === 'scale' && current) return yield* applyToScale(kind, current, applied, writer)
  const tracked = trackedKind(kind)
  const filter = countedFields(tracked, subresource)
  const live = current && withoutManagers(current)
  const result = yield* applyObject({
    kind: tracked,
    current: live,
    managers,
    manifest,
    force,
    subresource,
    filter,
    ...writer,
  })
  yield
  return withManagers(result.object, result.managers, current)
}

function* applyToScale(
  kind: Kind,
  current: KubernetesObject,
  applied: AppliedManifest,
  writer: Writer,
): Phases<JsonObject> {
  const paths = scalePathsOf(kind)
  const replicasPath = segments(paths.specReplicasPath)
  const before = managersOf(current.metadata.managedFields)
  const result = yield* applyObject({
    kind: scaleKind(),
    current: scaleOf(paths, current),
    managers: managersOfScale(before, replicasPath),
    manifest: applied.manifest,
    force: applied.force,
    subresource: 'scale',
    filter: (fields) => fields,
    ...writer,
  })
  const { apiVersion } = trackedKind(kind)
  return withManagers(result.object, managersOfScaled(before, result.managers, { apiVersion, replicasPath }), current)
}

/** Keeps the managers that an applied object carries. */
export function withAppliedManagers(next: KubernetesObject, applied: unknown): KubernetesObject {
  const managedFields = managedFieldsOf(applied)
  if (managedFields === undefined) return withoutManagers(next)
  return { ...next, metadata: { ...next.metadata, managedFields } }
}

let scale: TrackedKind | undefined

function scaleKind(): TrackedKind {
  scale ??= {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    group: 'autoscaling',
    version: 'v1',
    shape: shapeOf(coreSchema('autoscaling', 'v1', 'Scale')),
    isCustom: false,
    hasStatus: false,
  }
  return scale
}

function segments(path: string): string[] {
  return path.split('.').filter((segment) => segment !== '')
}

function managedFieldsOf(sent: unknown): unknown {
  return valueAtPath(sent, ['metadata', 'managedFields'])
}

/** Unchanged entries stay the very same objects, so that they need not be compared or encoded again. */
function withManagers<T extends JsonObject>(next: T, managers: Managers, current?: KubernetesObject): T {
  const live = current?.metadata.managedFields
  const managedFields = live !== undefined && managersOf(live) === managers ? live : writeManagers(managers)
  if (managedFields === undefined) return withoutManagers(next)
  return { ...next, metadata: { ...metadataOf(next), managedFields } }
}

/** Managed fields are computed here, never taken from a client, so they take no part in decoding and validation. */
export function withoutManagers<T extends JsonObject>(object: T): T {
  const { managedFields, ...metadata } = metadataOf(object)
  return managedFields === undefined ? object : { ...object, metadata }
}
