import { type FieldError, faultsOfEach, forbidden } from '../../resources/field-error.ts'
import type { AdmissionRule } from './admission.ts'
import { isJsonObject, valueAtPath } from '../../resources/json-value.ts'

/** Images must come from the registry of the cluster's compute center; all others are refused, naming that registry. */
export function imagesFrom(registry: string): AdmissionRule {
  return ({ operation, kind, object }) => {
    if (operation === 'delete' || kind.group !== '' || kind.kind !== 'Pod') return []
    return ['containers', 'initContainers', 'ephemeralContainers'].flatMap((list) =>
      foreignImages(valueAtPath(object, ['spec', list]), list, registry),
    )
  }
}

function foreignImages(containers: unknown, list: string, registry: string): FieldError[] {
  if (!Array.isArray(containers)) return []
  return faultsOfEach(containers, (container: unknown, index) => {
    const image = isJsonObject(container) ? container['image'] : undefined
    if (typeof image === 'string' && image.startsWith(`${registry}/`)) return []
    const shown = typeof image === 'string' ? `the image ${image.slice(0, 300)}` : 'an image without a name'
    const why = `${shown} is not from this cluster's registry; use ${registry}/<repository>:<tag>`
    return [forbidden(`spec.${list}[${index}].image`, why)]
  })
}
