import { type FieldError, forbidden, invalid } from '../resources/field-error.ts'
import type { Kind } from '../resources/kind.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { type JsonObject, isJsonObject, sameJson, withValueAtPath } from './json-value.ts'

/** What an update must not change, for the core kinds that have such fields. */
export function checkImmutable(kind: Kind, next: KubernetesObject, previous: KubernetesObject): FieldError[] {
  if (kind.group !== '') return []
  switch (kind.kind) {
    case 'Pod':
      return checkPod(next, previous)
    case 'Secret':
      return [...checkSecretType(next, previous), ...checkSealed(next, previous)]
    case 'ConfigMap':
      return checkSealed(next, previous)
    case 'PersistentVolumeClaim':
      return checkClaim(next, previous)
    default:
      return []
  }
}

const podWhy =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

function checkPod(next: KubernetesObject, previous: KubernetesObject): FieldError[] {
  return sameJson(fixedPodSpec(next, previous), fixedPodSpec(previous, previous)) ? [] : [forbidden('spec', podWhy)]
}

/** The spec without what may change. A Pod that has no node yet may be given one: that is what scheduling is. */
function fixedPodSpec(pod: KubernetesObject, previous: KubernetesObject): JsonObject {
  const spec = isJsonObject(pod['spec']) ? pod['spec'] : {}
  const { activeDeadlineSeconds: _deadline, tolerations: _tolerations, nodeName, ...fixed } = spec
  const before = isJsonObject(previous['spec']) ? previous['spec'] : {}
  return {
    ...fixed,
    containers: withoutImages(spec['containers']),
    initContainers: withoutImages(spec['initContainers']),
    nodeName: before['nodeName'] === undefined || before['nodeName'] === '' ? undefined : nodeName,
  }
}

function withoutImages(containers: unknown): unknown {
  if (!Array.isArray(containers)) return containers
  return containers.map((container: unknown) =>
    isJsonObject(container) ? withValueAtPath(container, ['image'], undefined) : container,
  )
}

function checkSecretType(next: KubernetesObject, previous: KubernetesObject): FieldError[] {
  return next['type'] === previous['type'] ? [] : [invalid('type', next['type'], 'field is immutable')]
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

function checkClaim(next: KubernetesObject, previous: KubernetesObject): FieldError[] {
  if (sameJson(fixedClaimSpec(next, previous), fixedClaimSpec(previous, previous))) return []
  const why =
    'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims'
  return [forbidden('spec', why)]
}

function fixedClaimSpec(claim: KubernetesObject, previous: KubernetesObject): JsonObject {
  const spec = isJsonObject(claim['spec']) ? claim['spec'] : {}
  const { resources: _resources, volumeAttributesClassName: _class, volumeName, ...fixed } = spec
  const before = isJsonObject(previous['spec']) ? previous['spec'] : {}
  return { ...fixed, volumeName: before['volumeName'] === undefined ? undefined : volumeName }
}
