import type { OwnerReference } from './kubernetes-object.ts'
import { modelLabel } from './model-labels.ts'
import { type Model, modelKind } from './model.ts'
import type { ObjectRef } from './object-ref.ts'
import type { Pod } from './pod.ts'

/** Where Models are looked up; any cache of them is one. */
interface KnownModels {
  get(ref: ObjectRef): Model | undefined
}

/** What a Pod says of the Model that made it. Whether that is so, only the Model's uid can tell. */
export function controllingModel({ metadata }: Pod): OwnerReference | undefined {
  return metadata.ownerReferences?.find(
    ({ apiVersion, kind, controller }) =>
      controller === true && kind === modelKind.kind && apiVersion.startsWith(`${modelKind.group}/`),
  )
}

/** Its own Pods only: a label alone may be anybody's. */
export function isPodOf({ metadata: { namespace, uid } }: Model, pod: Pod): boolean {
  return uid !== undefined && pod.metadata.namespace === namespace && controllingModel(pod)?.uid === uid
}

/**
 * The Model that a Pod was made for, as long as it is still that Model. A Pod whose label was taken off or changed by
 * hand is no longer the Model's to use, as with any controller.
 */
export function modelOfPod(pod: Pod, models: KnownModels): Model | undefined {
  const { namespace, labels } = pod.metadata
  const name = controllingModel(pod)?.name
  const model = name === undefined || labels?.[modelLabel] !== name ? undefined : models.get({ namespace, name })
  return model && isPodOf(model, pod) ? model : undefined
}
