import { resourceNameOf } from '../resources/kind.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { type RuntimeClass, runtimeClassKind } from '../resources/runtime-class.ts'
import { StatusError } from '../resources/status-error.ts'
import { textEntriesIn } from '../resources/validation/json-access.ts'
import type { Store } from '../store/store.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { type JsonObject, isJsonObject, sameJson } from './json-value.ts'

/** A Pod that names a RuntimeClass gets what the class says of overhead and nodes; one that names none has no overhead. */
export class RuntimeClassAdmission implements AdmissionPlugin {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  complete({ operation, kind, object }: AdmissionRequest): KubernetesObject {
    const { spec } = object
    if (operation !== 'create' || resourceNameOf(kind) !== 'pods' || !isJsonObject(spec)) return object
    const refuse = (why: string) => refusal(object.metadata.name, why)
    const name = spec['runtimeClassName']
    const runtimeClass = typeof name === 'string' ? this.#find(name) : undefined
    if (typeof name === 'string' && !runtimeClass) throw refuse(`pod rejected: RuntimeClass "${name}" not found`)
    const overhead = runtimeClass?.overhead?.podFixed
    if (!overhead) {
      if (spec['overhead'] === undefined) return withScheduling(object, spec, runtimeClass, refuse)
      throw refuse('pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead')
    }
    const own = spec['overhead']
    if (isJsonObject(own) && Object.keys(own).length > 0 && !sameJson(own, overhead)) {
      throw refuse("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    }
    return withScheduling(object, { ...spec, overhead }, runtimeClass, refuse)
  }

  #find(name: string): RuntimeClass | undefined {
    const found = this.#store.get({ resource: resourceNameOf(runtimeClassKind), namespace: '', name })?.object
    return found && runtimeClassKind.schema.parse(found)
  }
}

function withScheduling(
  object: KubernetesObject,
  spec: JsonObject,
  runtimeClass: RuntimeClass | undefined,
  refuse: (why: string) => StatusError,
): KubernetesObject {
  const { scheduling } = runtimeClass ?? {}
  if (!scheduling) return spec === object['spec'] ? object : { ...object, spec }
  const own = Object.fromEntries(textEntriesIn(spec, 'nodeSelector'))
  for (const [key, value] of Object.entries(scheduling.nodeSelector ?? {})) {
    if (own[key] === undefined || own[key] === value) continue
    const theirs = `runtimeClass.scheduling.nodeSelector[${key}] = ${value}`
    throw refuse(`conflict: ${theirs}; pod.spec.nodeSelector[${key}] = ${own[key]}`)
  }
  const nodeSelector = { ...own, ...scheduling.nodeSelector }
  const before: readonly unknown[] = Array.isArray(spec['tolerations']) ? spec['tolerations'] : []
  const added = (scheduling.tolerations ?? []).filter((one) => !before.some((other) => sameJson(one, other)))
  const tolerations = [...before, ...added]
  return {
    ...object,
    spec: {
      ...spec,
      ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
      ...(tolerations.length > 0 && { tolerations }),
    },
  }
}

function refusal(name: string, why: string): StatusError {
  return new StatusError('Forbidden', `pods "${name}" is forbidden: ${why}`, { name, kind: 'pods' })
}
