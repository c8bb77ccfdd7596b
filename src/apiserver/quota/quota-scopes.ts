import { podQualityOfService } from '../../resources/pod-quality.ts'
import { type JsonObject, isJsonObject, valueAtPath } from '../../resources/json-value.ts'
import { objectAt } from './pod-resources.ts'

/** Whether a quota applies to an object. Without scopes it applies to all. */
export function isInScope(quota: JsonObject, resource: string, object: JsonObject): boolean {
  const spec = objectAt(quota, 'spec')
  const { scopes } = spec
  const selected = valueAtPath(spec, ['scopeSelector', 'matchExpressions'])
  const named = Array.isArray(scopes) ? scopes.every((scope) => hasScope(String(scope), resource, object)) : true
  if (!named || !Array.isArray(selected)) return named
  return selected.every((term: unknown) => isJsonObject(term) && matchesTerm(term, resource, object))
}

function matchesTerm(term: JsonObject, resource: string, object: JsonObject): boolean {
  const scope = String(term['scopeName'])
  const value = valueOfScope(scope, resource, object)
  if (value === undefined) return hasScope(scope, resource, object)
  const values: unknown[] = Array.isArray(term['values']) ? term['values'] : []
  switch (term['operator']) {
    case 'In':
      return values.includes(value)
    case 'NotIn':
      return !values.includes(value)
    case 'DoesNotExist':
      return value === ''
    default:
      return value !== ''
  }
}

/** The object's value for a scope that has values; '' where it has none. */
function valueOfScope(scope: string, resource: string, object: JsonObject): string | undefined {
  const spec = objectAt(object, 'spec')
  if (scope === 'PriorityClass' && resource === 'pods') return textOf(spec['priorityClassName'])
  if (scope === 'VolumeAttributesClass' && resource === 'persistentvolumeclaims') {
    return textOf(spec['volumeAttributesClassName'])
  }
  return undefined
}

function hasScope(scope: string, resource: string, object: JsonObject): boolean {
  const value = valueOfScope(scope, resource, object)
  if (value !== undefined) return value !== ''
  if (resource !== 'pods') return false
  const spec = objectAt(object, 'spec')
  switch (scope) {
    case 'Terminating':
      return hasDeadline(spec)
    case 'NotTerminating':
      return !hasDeadline(spec)
    case 'BestEffort':
      return podQualityOfService(spec) === 'BestEffort'
    case 'NotBestEffort':
      return podQualityOfService(spec) !== 'BestEffort'
    case 'CrossNamespacePodAffinity':
      return ['podAffinity', 'podAntiAffinity'].some((field) => looksElsewhere(valueAtPath(spec, ['affinity', field])))
    default:
      return false
  }
}

function hasDeadline({ activeDeadlineSeconds }: JsonObject): boolean {
  return typeof activeDeadlineSeconds === 'number' && activeDeadlineSeconds >= 0
}

function looksElsewhere(affinity: unknown): boolean {
  if (!isJsonObject(affinity)) return false
  const { requiredDuringSchedulingIgnoredDuringExecution: must, preferredDuringSchedulingIgnoredDuringExecution: may } =
    affinity
  const preferred = (Array.isArray(may) ? may : []).map((term: unknown) => valueAtPath(term, ['podAffinityTerm']))
  return [...(Array.isArray(must) ? must : []), ...preferred].some((term: unknown) => {
    if (!isJsonObject(term)) return false
    const { namespaces, namespaceSelector } = term
    return (Array.isArray(namespaces) && namespaces.length > 0) || isJsonObject(namespaceSelector)
  })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
