import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'

/** Refuses new objects in a namespace that is being deleted. */
export function refuseInTerminating(kind: Kind, object: KubernetesObject, namespace: KubernetesObject): void {
  if (namespace.metadata.deletionTimestamp === undefined) return
  const { name } = namespace.metadata
  const why = `unable to create new content in namespace ${name} because it is being terminated`
  const message = `${resourceNameOf(kind)} "${object.metadata.name}" is forbidden: ${why}`
  throw new StatusError('Forbidden', message, {
    name: object.metadata.name,
    group: kind.group || undefined,
    kind: kind.plural,
    causes: [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${name} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  })
}
