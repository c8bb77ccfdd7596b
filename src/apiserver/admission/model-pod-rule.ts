import { forbidden } from '../../resources/field-error.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { controllerUser } from '../../resources/model-labels.ts'
import { modelKind } from '../../resources/model.ts'
import type { AdmissionRule } from './admission.ts'

/**
 * Only the cluster's own operator, in its process or in a Pod of the controller, may create Pods that belong to a
 * Model, because the gateway sends them what people ask and the engines' keys. Pods of others may have any label, but
 * not that owner.
 */
export const modelPodsAreMadeHere: AdmissionRule = ({ operation, kind, object, previous, user }) => {
  if (kind.group !== '' || kind.kind !== 'Pod' || operation === 'delete') return []
  if (user === undefined || user.name === controllerUser) return []
  const before = new Set(controllingModels(previous))
  if (controllingModels(object).every((uid) => before.has(uid))) return []
  return [forbidden('metadata.ownerReferences', 'only the operator makes Pods that a Model controls')]
}

function controllingModels(pod: KubernetesObject | undefined): readonly string[] {
  return (pod?.metadata.ownerReferences ?? [])
    .filter(
      ({ apiVersion, kind, controller }) =>
        controller === true && kind === modelKind.kind && apiVersion.startsWith(`${modelKind.group}/`),
    )
    .map(({ uid }) => uid)
}
