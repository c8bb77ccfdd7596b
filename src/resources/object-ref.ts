// Separate from the schemas, for threads that only need the names of objects.

/** Names one object of a kind. Cluster-scoped kinds have no namespace. */
export interface ObjectRef {
  readonly name: string
  readonly namespace?: string | undefined
}

export function refOf({ metadata }: { readonly metadata: ObjectRef }): ObjectRef {
  const { namespace, name } = metadata
  return namespace === undefined ? { name } : { namespace, name }
}

/** `namespace/name`, or `name` for cluster-scoped objects: the key of work queues and caches. */
export function keyOf(ref: ObjectRef): string {
  return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`
}
