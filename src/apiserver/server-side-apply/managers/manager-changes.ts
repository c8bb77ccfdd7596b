import { type JsonObject, sameJson } from '../../../resources/json-value.ts'
import { type Comparison, compareObjects, untrackedFields } from '../fields/compare-objects.ts'
import { type FieldSet, difference, intersection, unionOfAll, unionOfObjects } from '../fields/field-set.ts'
import type { Shape } from '../fields/field-shape.ts'
import { type Manager, type Managers, managerId } from './managed-fields.ts'
import { mergeObjects } from '../fields/merge-objects.ts'
import { ownedFields } from '../fields/owned-fields.ts'
import { removeFields, withNamedFields } from '../fields/remove-fields.ts'
import type { Phases } from '../../writing/write-phases.ts'

/** Removes fields that do not count for a request, such as the status outside of its subresource. */
export type FieldFilter = (fields: FieldSet | undefined) => FieldSet | undefined

export interface Taken {
  /** The very same map when no manager lost anything. */
  readonly managers: Managers
  /** The added or changed fields, which belong to whoever wrote them. */
  readonly taken: FieldSet | undefined
  /** What each of the other managers lost. */
  readonly conflicts: ReadonlyMap<string, FieldSet>
}

/**
 * The managers after an object changed: changed, added and removed fields no longer belong to their previous managers.
 */
export function takeFields(
  before: JsonObject | undefined,
  after: JsonObject,
  managers: Managers,
  { shape, filter, except }: { shape: Shape; filter: FieldFilter; except?: string | undefined },
): Taken {
  const { added, modified, removed } = filtered(compareObjects(before, after, shape), filter)
  const taken = unionOfObjects(modified, added)
  const gone = unionOfObjects(taken, removed)
  const conflicts = new Map<string, FieldSet>()
  if (gone === undefined) return { managers, taken, conflicts }
  const left = new Map<string, Manager>()
  for (const [id, manager] of managers) {
    if (id === except) {
      left.set(id, manager)
      continue
    }
    const conflict = intersection(manager.fields, taken)
    if (conflict) conflicts.set(id, conflict)
    const fields = difference(manager.fields, gone)
    if (fields) left.set(id, fields === manager.fields ? manager : { ...manager, fields })
  }
  return { managers: left, taken, conflicts }
}

function filtered({ added, modified, removed }: Comparison, filter: FieldFilter): Comparison {
  return { added: filter(added), modified: filter(modified), removed: filter(removed) }
}

export interface Applied {
  readonly object: JsonObject
  readonly managers: Managers
  /** Fields of other managers that the manifest contradicts: they can only be taken by force. */
  readonly conflicts: ReadonlyMap<string, FieldSet>
}

/** The object after a manifest is applied to it, and its managers. */
export function* applyManifest(
  live: JsonObject | undefined,
  manifest: JsonObject,
  managers: Managers,
  { shape, filter, applier }: { shape: Shape; filter: FieldFilter; applier: Omit<Manager, 'fields'> },
): Phases<Applied> {
  const id = managerId(applier)
  const last = managers.get(id)
  const everything = filter(ownedFields(manifest, shape))
  const now = new Map(managers).set(id, { ...applier, fields: everything ?? {} })
  yield
  const merged = mergeObjects(live ?? {}, manifest, shape)
  yield
  const object = yield* prune(merged, now, { last: last?.fields, applied: everything }, shape)
  yield
  const { managers: others, conflicts } = takeFields(live, object, now, { shape, filter, except: id })
  yield
  const left = new Map(others)
  const fields = difference(everything, untrackedFields)
  if (fields === undefined) left.delete(id)
  // A manager that changes nothing has no time, or keeps the one it had.
  else left.set(id, { ...applier, fields, time: live && sameJson(live, object) ? last?.time : applier.time })
  return { object, managers: left, conflicts }
}

/** Removes what the manager applied before and no longer does, unless another manager has it, too. */
function* prune(
  merged: JsonObject,
  managers: Managers,
  { last, applied }: { readonly last: FieldSet | undefined; readonly applied: FieldSet | undefined },
  shape: Shape,
): Phases<JsonObject> {
  // Mostly everything that was applied before still is, and nothing need be pruned.
  if (last === undefined || difference(last, applied) === undefined) return merged
  const lastNamed = withNamedFields(last, shape)
  const pruned = removeFields(merged, lastNamed, shape)
  yield
  const everybody = unionOfAll([...managers.values()].map(({ fields }) => fields))
  const mergedSet = withNamedFields(ownedFields(merged, shape), shape)
  yield
  const keptSet = unionOfObjects(named(pruned, shape), withNamedFields(everybody, shape))
  yield
  const withOthers = removeFields(merged, difference(mergedSet, keptSet), shape)
  const leftSet = named(withOthers, shape)
  yield
  return removeFields(merged, intersection(difference(mergedSet, leftSet), lastNamed), shape)
}

function named(object: JsonObject, shape: Shape): FieldSet | undefined {
  return withNamedFields(ownedFields(object, shape), shape)
}
