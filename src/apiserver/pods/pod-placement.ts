import type { Condition, KubernetesObject, ObjectRef } from '../../resources/kubernetes-object.ts'
import { withCondition } from '../../resources/kubernetes-object.ts'
import { podKind } from '../../resources/pod.ts'
import { StatusError } from '../../resources/status-error.ts'
import type { ClusterApi, WriteOptions } from '../cluster-api.ts'
import { type DeletionOptions, checkPreconditions } from '../writing/deletion.ts'
import { type JsonObject, isJsonObject, valueAtPath } from '../../resources/json-value.ts'
import { readDeletion } from '../http/request-options.ts'

/** The answer to a request that does something and has nothing to show. */
export const done = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }

/** `POST pods/NAME/binding`: assigns the Pod to the node that the Binding names, once. */
export async function bindPod(
  api: ClusterApi,
  ref: ObjectRef,
  binding: JsonObject,
  options: WriteOptions,
): Promise<void> {
  const node = valueAtPath(binding, ['target', 'name'])
  const kind = valueAtPath(binding, ['target', 'kind']) ?? ''
  if (typeof node !== 'string' || node === '') throw new StatusError('BadRequest', 'target.name: Required value')
  if (kind !== '' && kind !== 'Node') {
    const why = `target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`
    throw new StatusError('BadRequest', why)
  }
  const annotations = valueAtPath(binding, ['metadata', 'annotations'])
  await api.patch(
    podKind,
    ref,
    (pod) => {
      refuseBound(ref.name, pod)
      const metadata = isJsonObject(pod['metadata']) ? pod['metadata'] : {}
      const before = isJsonObject(metadata['annotations']) ? metadata['annotations'] : {}
      const added = isJsonObject(annotations) ? { annotations: { ...before, ...annotations } } : {}
      const spec = isJsonObject(pod['spec']) ? pod['spec'] : {}
      return { ...pod, metadata: { ...metadata, ...added }, spec: { ...spec, nodeName: node } }
    },
    options,
  )
  if (options.dryRun) return
  const scheduled = { type: 'PodScheduled', status: 'True' as const }
  const now = api.clock.now()
  await api.patch(podKind, ref, (pod) => withStatusCondition(pod, scheduled, now), options, 'status')
}

function withStatusCondition(pod: JsonObject, condition: Condition, now: number): JsonObject {
  const { status } = podKind.schema.parse(pod)
  const conditions = withCondition(status?.conditions ?? [], condition, now)
  return { ...pod, status: { ...status, conditions } }
}

function refuseBound(name: string, pod: JsonObject): void {
  const node = valueAtPath(pod, ['spec', 'nodeName'])
  const details = { name, kind: 'pods/binding' }
  const prefix = `Operation cannot be fulfilled on pods/binding "${name}"`
  if (typeof node === 'string' && node !== '') {
    throw new StatusError('Conflict', `${prefix}: pod ${name} is already assigned to node "${node}"`, details)
  }
  if (valueAtPath(pod, ['metadata', 'deletionTimestamp']) !== undefined) {
    throw new StatusError('Conflict', `${prefix}: pod ${name} is being deleted, cannot be assigned to a host`, details)
  }
  const gates = valueAtPath(pod, ['spec', 'schedulingGates'])
  if (Array.isArray(gates) && gates.length > 0) {
    throw new StatusError('Conflict', `${prefix}: pod ${name} has non-empty .spec.schedulingGates`, details)
  }
}

/**
 * `POST pods/NAME/eviction`: a deletion that is marked as an eviction. There are no disruption budgets here that could
 * forbid it.
 */
export async function evictPod(
  api: ClusterApi,
  ref: ObjectRef,
  eviction: JsonObject,
  options: WriteOptions,
): Promise<KubernetesObject> {
  const { dryRun, ...deletion } = readDeletion(new URLSearchParams(), eviction['deleteOptions'])
  const both = { ...options, dryRun: dryRun || options.dryRun }
  const told = both.dryRun === true ? undefined : await tellEviction(api, ref, deletion, options)
  // The caller's version was compared before this changed it.
  const { resourceVersion } = deletion.resourceVersion === undefined || !told ? deletion : told.metadata
  return (await api.delete(podKind, ref, { ...deletion, resourceVersion }, both)).object
}

/** Marks the Pod, so that controllers that count failures can tell an eviction from the Pod's own failure. */
function tellEviction(
  api: ClusterApi,
  ref: ObjectRef,
  deletion: DeletionOptions,
  options: WriteOptions,
): Promise<KubernetesObject> {
  const reason = { reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' }
  const evicted = { type: 'DisruptionTarget', status: 'True' as const, ...reason }
  const now = api.clock.now()
  const apply = (pod: JsonObject) => {
    checkPreconditions(podKind, podKind.schema.parse(pod), deletion)
    return withStatusCondition(pod, evicted, now)
  }
  return api.patch(podKind, ref, apply, options, 'status')
}

/** Reads the body of a subresource, which must be about the object of the address. */
export function readNamed(kind: string, body: unknown, ref: ObjectRef): JsonObject {
  if (!isJsonObject(body)) throw new StatusError('BadRequest', `the body must be an object of the kind ${kind}`)
  const { kind: own = kind } = body
  if (own !== kind) throw new StatusError('BadRequest', `${String(own).slice(0, 63)} cannot be handled as a ${kind}`)
  if (valueAtPath(body, ['metadata', 'name']) !== ref.name) {
    throw new StatusError('BadRequest', `name in URL does not match name in ${kind} object`)
  }
  const namespace = valueAtPath(body, ['metadata', 'namespace']) ?? ''
  if (namespace !== '' && namespace !== ref.namespace) {
    throw new StatusError('BadRequest', `namespace in URL does not match namespace in ${kind} object`)
  }
  return body
}
