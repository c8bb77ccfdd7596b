import { type Kind, apiVersionOf } from '../../../resources/kind.ts'
import { objectMetaFields } from '../../../resources/object-meta-fields.ts'
import type { StructuralSchema } from '../../../resources/structural-schema.ts'
import { valueAtPath } from '../../../resources/json-value.ts'
import { type FieldSet, setOfPath, unionOfObjects, withoutBranches } from '../fields/field-set.ts'
import { type Shape, shapeOf } from '../fields/field-shape.ts'
import type { FieldFilter } from './manager-changes.ts'
import { fieldElement } from '../fields/path-element.ts'

/** What tracking the fields of a kind needs to know about it. */
export interface TrackedKind {
  readonly apiVersion: string
  readonly kind: string
  readonly group: string
  readonly version: string
  readonly shape: Shape
  readonly isCustom: boolean
  readonly hasStatus: boolean
}

const tracked = new WeakMap<Kind, TrackedKind>()

export function trackedKind(kind: Kind): TrackedKind {
  const known = tracked.get(kind)
  if (known) return known
  const fields = kind.fields()
  const isCustom = fields['x-sluice-type-name'] === undefined
  const made: TrackedKind = {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    group: kind.group,
    version: kind.version,
    shape: shapeOf(isCustom ? withMetadata(fields) : fields),
    isCustom,
    hasStatus: kind.hasStatus,
  }
  tracked.set(kind, made)
  return made
}

/** A CustomResourceDefinition only says that there is metadata. */
function withMetadata(schema: StructuralSchema): StructuralSchema {
  const text: StructuralSchema = { type: 'string' }
  const common = { apiVersion: text, kind: text, metadata: objectMetaFields }
  return { ...schema, properties: { ...schema.properties, ...common } }
}

/** What a status write leaves alone beside the spec, and so gives to nobody. */
const keptByStatus: Readonly<Record<string, readonly string[]>> = {
  Pod: ['metadata.deletionTimestamp', 'metadata.ownerReferences'],
  Deployment: ['metadata.labels'],
  CustomResourceDefinition: ['metadata'],
}

/** What the server sets in a new object when the client did not; it belongs to nobody. */
const givenAtBirth: Readonly<Record<string, readonly string[]>> = {
  Namespace: ['spec'],
  Service: ['spec.clusterIP', 'spec.clusterIPs', 'spec.ipFamilies', 'spec.ipFamilyPolicy'],
  Pod: [
    'spec.serviceAccountName',
    'spec.serviceAccount',
    'spec.tolerations',
    'spec.priority',
    'spec.preemptionPolicy',
    'spec.nodeName',
  ],
  PersistentVolumeClaim: ['metadata.finalizers', 'spec.storageClassName'],
  PersistentVolume: ['metadata.finalizers'],
  Job: ['spec.selector'],
}

/** Which fields count for a request: writing the object leaves its status alone, writing the status everything else. */
export function countedFields(kind: TrackedKind, subresource: string | undefined): FieldFilter {
  if (subresource === 'status') return kind.isCustom ? withoutSpec : statusFilter(kind.kind)
  return kind.hasStatus ? withoutStatus : everything
}

/** The fields of a new object that count: what the client sent, and the defaults that follow from it. */
export function countedAtBirth(kind: TrackedKind, sent: unknown): FieldFilter {
  const counted = countedFields(kind, undefined)
  const given = kind.isCustom ? undefined : givenAtBirth[kind.kind]
  if (!given) return counted
  const unsent = given.filter((path) => valueAtPath(sent, path.split('.')) === undefined)
  const leave = without(pathsSet(unsent))
  return (fields) => leave(counted(fields))
}

const everything: FieldFilter = (fields) => fields
const withoutStatus = without({ 'f:status': {} })
const withoutSpec = without({ 'f:spec': {} })

const statusFilters = new Map<string, FieldFilter>()

function statusFilter(kind: string): FieldFilter {
  let filter = statusFilters.get(kind)
  if (!filter) {
    filter = without(pathsSet(['spec', ...(keptByStatus[kind] ?? [])]))
    statusFilters.set(kind, filter)
  }
  return filter
}

function without(unwanted: FieldSet | undefined): FieldFilter {
  return (fields) => withoutBranches(fields, unwanted)
}

function pathsSet(paths: readonly string[]): FieldSet | undefined {
  return paths
    .map((path) => setOfPath(path.split('.').map(fieldElement)))
    .reduce<FieldSet | undefined>((all, path) => unionOfObjects(all, path), undefined)
}
