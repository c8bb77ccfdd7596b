import { timestamp } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { JsonObject } from '../../resources/json-value.ts'
import { conflictError } from './apply-conflicts.ts'
import { type FieldSet, difference } from './fields/field-set.ts'
import { allowedByLastApplied, withLastApplied } from './managers/last-applied.ts'
import { type Managers, managerId } from './managers/managed-fields.ts'
import { type Applied, type FieldFilter, applyManifest, takeFields } from './managers/manager-changes.ts'
import { checkManifest, mostErrors } from '../bodies/manifest-check.ts'
import { metadataOf } from './managers/track-update.ts'
import type { TrackedKind } from './managers/tracked-kind.ts'
import type { Phases } from '../writing/write-phases.ts'

export interface ApplyRequest {
  readonly kind: TrackedKind
  /** Without its managed fields. `undefined`: the object does not exist yet. */
  readonly current: JsonObject | undefined
  readonly managers: Managers
  readonly manifest: JsonObject
  readonly manager: string
  readonly force: boolean
  readonly subresource?: string | undefined
  readonly filter: FieldFilter
  readonly now: number
}

export interface ApplyResult {
  /** The resulting object, before defaults and validation. */
  readonly object: JsonObject
  readonly managers: Managers
}

const beforeFirstApply = 'before-first-apply'
/** Only kubectl can continue what kubectl applied on the client's side. */
const kubectl = 'kubectl'

/**
 * Server-side apply: returns the object with the manifest merged in, or throws a Conflict that names every conflicting
 * field and its manager.
 */
export function* applyObject(request: ApplyRequest): Phases<ApplyResult> {
  const { kind, manager, now, subresource, current, manifest, filter } = request
  const { apiVersion, shape } = kind
  checkIsApplicable(request)
  yield
  const before = managersAtApply(request)
  const applier = { manager, operation: 'Apply', apiVersion, subresource, time: timestamp(now) } as const
  const applied = yield* applyManifest(current, manifest, before, { shape, filter, applier })
  const conflicts = request.force ? undefined : standing(applied, request)
  if (conflicts && conflicts.size > 0) throw conflictError(conflicts, before)
  const object = manager === kubectl ? withLastApplied(applied.object, manifest) : applied.object
  return { object, managers: applied.managers }
}

function checkIsApplicable({ kind, manifest }: ApplyRequest): void {
  const { apiVersion = '', kind: name = '' } = manifest
  if (apiVersion !== kind.apiVersion || name !== kind.kind) {
    const [version, group = ''] = String(apiVersion).slice(0, 253).split('/').toReversed()
    throw new StatusError(
      'BadRequest',
      `invalid object type: ${group}/${version ?? ''}, Kind=${String(name).slice(0, 253)}`,
    )
  }
  const metadata = metadataOf(manifest)
  if (metadata['managedFields'] !== undefined && metadata['managedFields'] !== null) {
    throw new StatusError('BadRequest', 'metadata.managedFields must be nil')
  }
  const errors = checkManifest(manifest, kind.shape)
  if (errors.length === 0) return
  const { namespace = '', name: objectName = '' } = metadata
  const which = `${String(namespace)}/${String(objectName)}; ${kind.group}/${kind.version}, Kind=${kind.kind}`
  const told = errors.length === 1 ? errors[0] : `errors:\n  ${errors.slice(0, mostErrors).join('\n  ')}`
  throw new StatusError('BadRequest', `failed to create typed patch object (${which}): ${told}`)
}

/** The fields of an object that nobody tracked so far are given to a manager from before the first apply. */
function managersAtApply({ kind, current, managers, filter, now, subresource }: ApplyRequest): Managers {
  if (managers.size > 0 || current === undefined) return managers
  const { taken } = takeFields(undefined, current, managers, { shape: kind.shape, filter })
  if (taken === undefined) return managers
  const who = { manager: beforeFirstApply, operation: 'Update', apiVersion: kind.apiVersion, subresource } as const
  return new Map([[managerId(who), { ...who, fields: taken, time: timestamp(now) }]])
}

/** The conflicts, except those over fields that kubectl itself applied before and nobody has changed since. */
function standing({ conflicts }: Applied, { kind, current, manager }: ApplyRequest): ReadonlyMap<string, FieldSet> {
  const allowed = manager === kubectl && current ? allowedByLastApplied(current, kind) : undefined
  if (!allowed) return conflicts
  const left = new Map<string, FieldSet>()
  for (const [id, fields] of conflicts) {
    const others = difference(fields, allowed)
    if (others) left.set(id, others)
  }
  return left
}
