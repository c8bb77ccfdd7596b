import type { OwnerReference } from './kubernetes-object.ts'
import { modelLabel } from './model-labels.ts'
import { type Model, modelKind } from './model.ts'
import type { ObjectRef } from './object-ref.ts'
import type { Pod } from './pod.ts'

/** Where Models are looked up; any cache of Models will do. */
interface KnownModels {
  get(ref: ObjectRef): Model | undefined
}

/** The Model that a Pod names as its owner. Only the Model's uid tells whether that is true. */
export function controllingModel({ metadata }: Pod): OwnerReference | undefined {
  return metadata.ownerReferences?.find(
    ({ apiVersion, kind, controller }) =>
      controller === true && kind === modelKind.kind && apiVersion.startsWith(`${modelKind.group}/`),
  )
}

/** Whether the Pod belongs to the Model: a label alone may be anybody's. */
export function isPodOf({ metadata: { namespace, uid } }: Model, pod: Pod): boolean {
  return uid !== undefined && pod.metadata.namespace === namespace && controllingModel(pod)?.uid === uid
}

/**
 * The Model that a Pod was created for, if it is still that Model. A Pod whose label was removed or changed by hand no
 * longer belongs to the Model, as with any controller.
 */
export function modelOfPod(pod: Pod, models: KnownModels): Model | undefined {
  const { namespace, labels } = pod.metadata
  const name = controllingModel(pod)?.name
  const model = name === undefined || labels?.[modelLabel] !== name ? undefined : models.get({ namespace, name })
  return model && isPodOf(model, pod) ? model : undefined
}
