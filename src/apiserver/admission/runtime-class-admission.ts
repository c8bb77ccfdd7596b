import { resourceNameOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { runtimeClassKind } from '../../resources/runtime-class.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { Store } from '../../store/store.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { type JsonObject, isJsonObject, sameJson } from '../../resources/json-value.ts'
import { mergeTolerations } from './merge-tolerations.ts'

/** Gives a Pod that names a RuntimeClass what the class says: its overhead, and which nodes can run it. */
export class RuntimeClassAdmission implements AdmissionPlugin {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  complete({ operation, kind, object }: AdmissionRequest): KubernetesObject {
    const { spec } = object
    if (operation !== 'create' || resourceNameOf(kind) !== 'pods' || !isJsonObject(spec)) return object
    const runtimeClass = this.#classOf(object, spec)
    const overhead = overheadIn(runtimeClass)
    const own = spec['overhead']
    const hasOwn = isJsonObject(own) && Object.keys(own).length > 0
    if (!overhead) {
      if (hasOwn) throw refusal(object, 'Pod Overhead set without corresponding RuntimeClass defined Overhead')
      return runtimeClass ? { ...object, spec: scheduled(object, spec, runtimeClass) } : object
    }
    if (hasOwn && !sameJson(own, overhead)) {
      throw refusal(object, "Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    }
    const withOverhead = Object.keys(overhead).length > 0 ? { ...spec, overhead } : spec
    return { ...object, spec: scheduled(object, withOverhead, runtimeClass ?? {}) }
  }

  #classOf(pod: KubernetesObject, { runtimeClassName: name }: JsonObject): JsonObject | undefined {
    if (typeof name !== 'string') return undefined
    const found = this.#store.get({ resource: resourceNameOf(runtimeClassKind), namespace: '', name })?.object
    if (!found) throw refusal(pod, `RuntimeClass "${name}" not found`)
    return found
  }
}

/** `undefined` when the class names no overhead. */
function overheadIn(runtimeClass: JsonObject | undefined): JsonObject | undefined {
  const overhead = runtimeClass?.['overhead']
  if (!isJsonObject(overhead)) return undefined
  return isJsonObject(overhead['podFixed']) ? overhead['podFixed'] : {}
}

function scheduled(pod: KubernetesObject, spec: JsonObject, { scheduling }: JsonObject): JsonObject {
  if (!isJsonObject(scheduling)) return spec
  const own = isJsonObject(spec['nodeSelector']) ? spec['nodeSelector'] : {}
  const wanted = isJsonObject(scheduling['nodeSelector']) ? scheduling['nodeSelector'] : {}
  for (const [key, value] of Object.entries(wanted)) {
    if (!Object.hasOwn(own, key) || own[key] === value) continue
    const theirs = `runtimeClass.scheduling.nodeSelector[${key}] = ${String(value)}`
    throw forbidden(pod, `conflict: ${theirs}; pod.spec.nodeSelector[${key}] = ${String(own[key])}`)
  }
  const nodeSelector = { ...own, ...wanted }
  const tolerations = mergeTolerations(listOf(spec['tolerations']), listOf(scheduling['tolerations']))
  return {
    ...spec,
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
    ...(tolerations.length > 0 && { tolerations }),
  }
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

function refusal(pod: KubernetesObject, why: string): StatusError {
  return forbidden(pod, `pod rejected: ${why}`)
}

function forbidden({ metadata }: KubernetesObject, why: string): StatusError {
  const { name } = metadata
  return new StatusError('Forbidden', `pods "${name}" is forbidden: ${why}`, { name, kind: 'pods' })
}
