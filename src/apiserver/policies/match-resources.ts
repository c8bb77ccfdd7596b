import { z } from 'zod'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { LabelSelector } from '../../resources/pod-template.ts'
import type { MatchResources, ResourceRule } from '../../resources/admission-policy-schemas.ts'
import type { AdmissionRequest } from '../admission/admission.ts'

type Labels = Readonly<Record<string, string>>

const sentMetadata = z.looseObject({ labels: z.record(z.string(), z.string()).optional() })

/** Whether a request is one of those that a policy or a binding is about. `namespace` is the one it goes to. */
export function matchesResources(
  match: MatchResources | undefined,
  request: AdmissionRequest,
  namespace: KubernetesObject | undefined,
): boolean {
  if (!match) return true
  const { resourceRules = [], namespaceSelector, objectSelector } = match
  if (!matchesNamespace(namespaceSelector, request, namespace)) return false
  if (!isSelected(objectSelector, request) || isExcluded(match, request)) return false
  return resourceRules.length === 0 || resourceRules.some((rule) => matchesRule(rule, request))
}

export function isExcluded({ excludeResourceRules = [] }: MatchResources, request: AdmissionRequest): boolean {
  return excludeResourceRules.some((rule) => matchesRule(rule, request))
}

/**
 * By the labels of what was sent. What can have none, as the options of an exec, is selected by nobody who asks for
 * some.
 */
function isSelected(selector: LabelSelector | undefined, { object, previous, part }: AdmissionRequest): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {}
  if (Object.keys(matchLabels).length + matchExpressions.length === 0) return true
  if (!part) return [object, previous].some((one) => one !== undefined && selects(selector, one.metadata.labels))
  return [part.object, part.previous].some((one) => {
    const metadata = sentMetadata.safeParse(one?.['metadata'])
    return metadata.success && selects(selector, metadata.data.labels)
  })
}

/** A Namespace is selected by its own labels; what is in no namespace always is. */
function matchesNamespace(
  selector: LabelSelector | undefined,
  { kind, object }: AdmissionRequest,
  namespace: KubernetesObject | undefined,
): boolean {
  const isNamespace = kind.group === '' && kind.kind === 'Namespace'
  if (!kind.namespaced && !isNamespace) return true
  return selects(selector, (isNamespace ? object : namespace)?.metadata.labels)
}

function matchesRule(rule: ResourceRule, request: AdmissionRequest): boolean {
  const { operation, kind, object, subresource = '' } = request
  const has = (list: readonly string[] | undefined, value: string) => list?.some((one) => one === '*' || one === value)
  const { scope = '*', resourceNames = [] } = rule
  if (scope !== '*' && (scope === 'Namespaced') !== kind.namespaced) return false
  if (resourceNames.length > 0 && !resourceNames.includes(object.metadata.name)) return false
  const isResource = rule.resources?.some((one) => {
    const [plural, part = ''] = one.split('/')
    return (plural === '*' || plural === kind.plural) && (part === '*' || part === subresource)
  })
  return Boolean(
    isResource &&
    has(rule.operations, operation.toUpperCase()) &&
    has(rule.apiGroups, kind.group) &&
    has(rule.apiVersions, kind.version),
  )
}

export function selects(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {}
  const valueOf = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined)
  return (
    Object.entries(matchLabels).every(([key, value]) => valueOf(key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = valueOf(key)
      switch (operator) {
        case 'In':
          return value !== undefined && values.includes(value)
        case 'NotIn':
          return value === undefined || !values.includes(value)
        case 'Exists':
          return value !== undefined
        default:
          return value === undefined
      }
    })
  )
}
