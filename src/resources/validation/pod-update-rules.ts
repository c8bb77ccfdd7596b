import { type FieldError, forbidden } from '../field-error.ts'
import type { KubernetesObject } from '../kubernetes-object.ts'
import { type JsonObject, isJsonObject, sameJson, withValueAtPath } from '../json-value.ts'
import { specOf } from '../update-rules.ts'

const podWhy =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

/** A Pod hardly changes: only its images, a deadline, further tolerations, fewer gates, and its node once. */
export function checkPodUpdate(next: KubernetesObject, previous: KubernetesObject): FieldError[] {
  const [after, before] = [specOf(next), specOf(previous)]
  for (const field of ['containers', 'initContainers']) {
    if (listOf(after[field]).length !== listOf(before[field]).length) {
      return [forbidden(`spec.${field}`, 'pod updates may not add or remove containers')]
    }
  }
  const errors = sameJson(fixedSpec(after, before), fixedSpec(before, before)) ? [] : [forbidden('spec', podWhy)]
  return [
    ...errors,
    ...checkTolerations(listOf(after['tolerations']), listOf(before['tolerations'])),
    ...checkGates(listOf(after['schedulingGates']), listOf(before['schedulingGates'])),
  ]
}

function checkGates(after: readonly unknown[], before: readonly unknown[]): FieldError[] {
  const nameOf = (gate: unknown) => (isJsonObject(gate) && typeof gate['name'] === 'string' ? gate['name'] : '')
  const names = new Set(before.map(nameOf))
  return after.flatMap((gate, index) => {
    const name = nameOf(gate)
    const why = `only deletion is allowed, but found new scheduling gate '${name}'`
    return names.has(name) ? [] : [forbidden(`spec.schedulingGates[${index}].name`, why)]
  })
}

/** The spec without what may change. A Pod without a node may be given one, which is what scheduling does. */
function fixedSpec(spec: JsonObject, before: JsonObject): JsonObject {
  const {
    activeDeadlineSeconds: _deadline,
    tolerations: _tolerations,
    schedulingGates: _gates,
    nodeName,
    ...fixed
  } = spec
  return {
    ...fixed,
    containers: withoutImages(spec['containers']),
    initContainers: withoutImages(spec['initContainers']),
    nodeName: before['nodeName'] === undefined || before['nodeName'] === '' ? undefined : nodeName,
  }
}

function checkTolerations(after: readonly unknown[], before: readonly unknown[]): FieldError[] {
  const kept = before.every((old) => after.some((toleration) => sameJson(patient(toleration), patient(old))))
  if (kept) return []
  return [forbidden('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')]
}

function patient(toleration: unknown): unknown {
  return isJsonObject(toleration) ? withValueAtPath(toleration, ['tolerationSeconds'], undefined) : toleration
}

function withoutImages(containers: unknown): unknown {
  if (!Array.isArray(containers)) return containers
  return containers.map((container: unknown) =>
    isJsonObject(container) ? withValueAtPath(container, ['image'], undefined) : container,
  )
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
