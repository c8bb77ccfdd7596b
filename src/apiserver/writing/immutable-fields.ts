import { type FieldError, forbidden, invalid } from '../../resources/field-error.ts'
import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { volumeFieldsBesideSource } from '../../resources/validation/storage-rules.ts'
import { type JsonObject, isJsonObject, sameJson, valueAtPath } from '../../resources/json-value.ts'
import { checkPodUpdate } from './pod-update-rules.ts'

type UpdateRule = (next: KubernetesObject, previous: KubernetesObject) => FieldError[]

/** What an update must not change, for the core kinds that have such fields. */
export function checkImmutable(kind: Kind, next: KubernetesObject, previous: KubernetesObject): FieldError[] {
  if (kind.unknownFields !== 'keep') return []
  return rules[`${kind.group}/${kind.kind}`]?.flatMap((rule) => rule(next, previous)) ?? []
}

/** A field that stays as it was made. */
function fixed(path: string, why = 'field is immutable', field = path): UpdateRule {
  return (next, previous) => {
    const [after, before] = [at(next, path), at(previous, path)]
    return sameJson(after, before) ? [] : [invalid(field, after ?? null, why)]
  }
}

function notUpdated(field: string): UpdateRule {
  return (next, previous) =>
    sameJson(at(next, field), at(previous, field)) ? [] : [forbidden(field, `updates to ${field} are forbidden.`)]
}

/** Everything in the spec but these. */
function fixedSpecExcept(mutable: readonly string[], why: string, field = 'spec'): UpdateRule {
  return (next, previous) =>
    sameJson(without(next, mutable), without(previous, mutable)) ? [] : [forbidden(field, why)]
}

const statefulSetFields = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]
const statefulSetWhy =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
const claimWhy =
  'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'

const rules: Readonly<Record<string, readonly UpdateRule[]>> = {
  '/ConfigMap': [checkSealed],
  '/PersistentVolume': [
    fixedSpecExcept(
      volumeFieldsBesideSource,
      'spec.persistentvolumesource is immutable after creation',
      'spec.persistentvolumesource',
    ),
    fixed('spec.volumeMode', 'field is immutable', 'volumeMode'),
  ],
  '/PersistentVolumeClaim': [checkClaim],
  '/Pod': [checkPodUpdate],
  '/ResourceQuota': [fixed('spec.scopes')],
  '/Secret': [fixed('type'), checkSealed],
  'apps/ControllerRevision': [fixed('data')],
  'apps/Deployment': [fixed('spec.selector')],
  'apps/ReplicaSet': [fixed('spec.selector')],
  'apps/StatefulSet': [fixedSpecExcept(statefulSetFields, statefulSetWhy)],
  'batch/Job': [checkJob],
  'discovery.k8s.io/EndpointSlice': [fixed('addressType')],
  'networking.k8s.io/IPAddress': [fixed('spec.parentRef')],
  'networking.k8s.io/ServiceCIDR': [fixed('spec.cidrs')],
  'node.k8s.io/RuntimeClass': [fixed('handler')],
  'rbac.authorization.k8s.io/ClusterRoleBinding': [fixed('roleRef', 'cannot change roleRef')],
  'rbac.authorization.k8s.io/RoleBinding': [fixed('roleRef', 'cannot change roleRef')],
  'storage.k8s.io/StorageClass': [
    notUpdated('provisioner'),
    notUpdated('parameters'),
    notUpdated('reclaimPolicy'),
    fixed('volumeBindingMode'),
  ],
}

/** How many completions an indexed Job has may change with its parallelism; the Pods of a Job that waits may be placed. */
function checkJob(next: KubernetesObject, previous: KubernetesObject): FieldError[] {
  const [after, before] = [specOf(next), specOf(previous)]
  const resized = before['completionMode'] === 'Indexed' && after['completions'] === after['parallelism']
  const names = ['selector', 'completionMode', ...(resized ? [] : ['completions'])]
  const changed = before['suspend'] === true ? names : [...names, 'template']
  return changed.flatMap((name) => fixed(`spec.${name}`)(next, previous))
}

/** Secrets and ConfigMaps that were declared immutable. */
function checkSealed(next: KubernetesObject, previous: KubernetesObject): FieldError[] {
  if (previous['immutable'] !== true) return []
  const why = 'field is immutable when `immutable` is set'
  const errors = ['data', 'binaryData']
    .filter((field) => !sameJson(next[field] ?? {}, previous[field] ?? {}))
    .map((field) => forbidden(field, why))
  return next['immutable'] === true ? errors : [forbidden('immutable', why), ...errors]
}

/** A claim may be given its volume and its class once; when it is bound, it may grow. */
function checkClaim(next: KubernetesObject, previous: KubernetesObject): FieldError[] {
  const [after, before] = [specOf(next), specOf(previous)]
  const mutable = ['volumeAttributesClassName']
  for (const name of ['volumeName', 'storageClassName']) if (before[name] === undefined) mutable.push(name)
  if (valueAtPath(previous, ['status', 'phase']) === 'Bound') mutable.push('resources')
  const [fixedAfter, fixedBefore] = [omit(after, mutable), omit(before, mutable)]
  return sameJson(fixedAfter, fixedBefore) ? [] : [forbidden('spec', claimWhy)]
}

function at(object: KubernetesObject, path: string): unknown {
  return valueAtPath(object, path.split('.'))
}

function specOf(object: KubernetesObject): JsonObject {
  return isJsonObject(object['spec']) ? object['spec'] : {}
}

function without(object: KubernetesObject, fields: readonly string[]): JsonObject {
  return omit(specOf(object), fields)
}

function omit(value: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field)))
}
