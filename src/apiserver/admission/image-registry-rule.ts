import { type FieldError, faultsOfEach, forbidden } from '../../resources/field-error.ts'
import { isJsonObject, sameJson, valueAtPath } from '../../resources/json-value.ts'
import type { Kind } from '../../resources/kind.ts'
import { podTemplatePath } from '../../resources/pod-template.ts'
import type { AdmissionRequest, AdmissionRule } from './admission.ts'

/**
 * Images must come from the registry of the cluster's compute center; all others are refused, naming that registry. A
 * template is refused as well, so that whoever applies it hears of it, and not only the controller that makes its Pods.
 */
export function imagesFrom(registry: string): AdmissionRule {
  return (request) => {
    const { operation, kind, object } = request
    const path = podPathOf(kind)
    if (!path || operation === 'delete' || isKeptTemplate(request, path)) return []
    return ['containers', 'initContainers', 'ephemeralContainers'].flatMap((list) =>
      foreignImages(valueAtPath(object, [...path, 'spec', list]), [...path, 'spec', list].join('.'), registry),
    )
  }
}

function podPathOf(kind: Kind): readonly string[] | undefined {
  return kind.group === '' && kind.kind === 'Pod' ? [] : podTemplatePath(kind)
}

/**
 * What was let in before the rule can still be scaled and labelled, and the cluster's own controllers hand templates on
 * as they are: nothing comes of it, because its Pods are refused.
 */
function isKeptTemplate({ object, previous, user }: AdmissionRequest, path: readonly string[]): boolean {
  if (path.length === 0) return false
  return (
    user === undefined || (previous !== undefined && sameJson(valueAtPath(object, path), valueAtPath(previous, path)))
  )
}

function foreignImages(containers: unknown, field: string, registry: string): FieldError[] {
  if (!Array.isArray(containers)) return []
  return faultsOfEach(containers, (container: unknown, index) => {
    const image = isJsonObject(container) ? container['image'] : undefined
    if (typeof image === 'string' && image.startsWith(`${registry}/`)) return []
    const shown = typeof image === 'string' ? `the image ${image.slice(0, 300)}` : 'an image without a name'
    const why = `${shown} is not from this cluster's registry; use ${registry}/<repository>:<tag>`
    return [forbidden(`${field}[${index}].image`, why)]
  })
}
