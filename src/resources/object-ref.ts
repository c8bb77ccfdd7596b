import type { KubernetesObject } from './kubernetes-object.ts'

// Apart from the schemas, for threads that need no more of objects than their names.

/** Names one object of a kind. Cluster-scoped kinds have no namespace. */
export interface ObjectRef {
  readonly name: string
  readonly namespace?: string | undefined
}

export function refOf(object: KubernetesObject): ObjectRef {
  return object.metadata.namespace === undefined
    ? { name: object.metadata.name }
    : { namespace: object.metadata.namespace, name: object.metadata.name }
}

/** `namespace/name`, or `name` for cluster-scoped objects: the key of work queues and caches. */
export function keyOf(ref: ObjectRef): string {
  return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`
}
