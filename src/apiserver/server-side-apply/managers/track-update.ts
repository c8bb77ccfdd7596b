import { timestamp } from '../../../resources/kubernetes-object.ts'
import { type JsonObject, isJsonObject } from '../../../resources/json-value.ts'
import { unionOfAll, unionOfObjects } from '../fields/field-set.ts'
import { type Manager, type Managers, managerId, managersOf, readManagers, secondsOf } from './managed-fields.ts'
import { type FieldFilter, takeFields } from './manager-changes.ts'
import type { TrackedKind } from './tracked-kind.ts'

export interface TrackedUpdate {
  readonly kind: TrackedKind
  /** `undefined`: the object is being created. */
  readonly current: JsonObject | undefined
  readonly next: JsonObject
  readonly manager: string
  readonly subresource?: string | undefined
  readonly filter: FieldFilter
  readonly now: number
}

const mostUpdateManagers = 10
const oldChanges = 'ancient-changes'

/** The managers after an object was created, replaced or patched. */
export function trackUpdate(before: Managers, update: TrackedUpdate): Managers {
  const { current, next, kind, filter, subresource, now } = update
  // An object without managed fields stays so until somebody applies to it.
  if (before.size === 0 && current !== undefined) return before
  const { managers, taken } = takeFields(current, next, before, { shape: kind.shape, filter })
  if (taken === undefined) return managers
  const { apiVersion } = kind
  const who = { manager: update.manager || 'unknown', operation: 'Update', apiVersion, subresource } as const
  const id = managerId(who)
  const fields = unionOfObjects(taken, managers.get(id)?.fields) ?? taken
  return capped(new Map(managers).set(id, { ...who, fields, time: timestamp(now) }))
}

/**
 * The managers that an update starts from: a client may send its own, but not by leaving them out, and not in a
 * subresource.
 */
export function managersBefore(current: JsonObject | undefined, sent: unknown, subresource?: string): Managers {
  const live = metadataOf(current)['managedFields']
  if (subresource !== undefined || sent === undefined || sent === null || sent === live) return managersOf(live)
  if (isReset(sent)) return new Map()
  const told = readManagers(sent)
  return told === undefined || told.size === 0 ? managersOf(live) : told
}

/** `[]` and `[{}]` mean: forget all managers. */
function isReset(sent: unknown): boolean {
  if (!Array.isArray(sent)) return false
  const first: unknown = sent[0]
  return sent.length === 0 || (sent.length === 1 && isJsonObject(first) && Object.keys(first).length === 0)
}

export function metadataOf(object: JsonObject | undefined): JsonObject {
  const metadata = object?.['metadata']
  return isJsonObject(metadata) ? metadata : {}
}

/** Bounds the number of managers that update: the oldest of a version are combined into one. */
function capped(managers: Map<string, Manager>): Map<string, Manager> {
  const updaters = [...managers].filter(([, { operation }]) => operation === 'Update')
  if (updaters.length <= mostUpdateManagers) return managers
  updaters.sort(([id, one], [otherId, other]) => secondsOf(one) - secondsOf(other) || (id < otherId ? -1 : 1))
  const buckets = new Map<string, Bucket>()
  let count = updaters.length
  for (const [id, updater] of updaters) {
    if (count <= mostUpdateManagers) break
    const { apiVersion } = updater
    const bucket = buckets.get(apiVersion)
    if (bucket) {
      bucket.push([id, updater])
      count -= 1
    } else buckets.set(apiVersion, [[id, updater]])
  }
  for (const [apiVersion, bucket] of buckets) {
    if (bucket.length > 1) gather(managers, bucket, apiVersion)
  }
  return managers
}

/** The managers of a version that are combined, oldest first. */
type Bucket = Array<readonly [id: string, manager: Manager]>

function gather(managers: Map<string, Manager>, bucket: Bucket, apiVersion: string): void {
  const who = { manager: oldChanges, operation: 'Update', apiVersion } as const
  const id = managerId(who)
  const before = managers.get(id)
  const gone = before ? bucket.slice(1) : bucket
  const sets = [...(before ? [before] : []), ...gone.map(([, manager]) => manager)].map(({ fields }) => fields)
  for (const [old] of gone) managers.delete(old)
  managers.set(id, { ...who, fields: unionOfAll(sets) ?? {}, time: bucket.at(-1)?.[1].time })
}
