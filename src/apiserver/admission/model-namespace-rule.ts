import { forbidden } from '../../resources/field-error.ts'
import { modelKind } from '../../resources/model.ts'
import type { AdmissionRule } from './admission.ts'

/**
 * A Model's name is what requests ask for, so Models are in one namespace: the gateway's. One in another would have
 * Pods and cards, but nobody could reach it.
 */
export function modelsIn(namespace: string): AdmissionRule {
  return ({ operation, kind, object }) => {
    if (operation !== 'create' || kind.group !== modelKind.group || kind.kind !== modelKind.kind) return []
    if (object.metadata.namespace === namespace) return []
    return [
      forbidden('metadata.namespace', `the gateway serves Models of the namespace ${namespace} only; create it there`),
    ]
  }
}
