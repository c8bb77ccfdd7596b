import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'
import { valueAtPath } from '../../resources/json-value.ts'

export interface FieldRequirement {
  readonly field: string
  readonly value: string
  readonly equal: boolean
}

export type FieldSelector = readonly FieldRequirement[]

/** The fields each kind can be selected by, beyond its name and namespace: those the real server knows, as far as they exist here. */
const selectable: Readonly<Record<string, readonly string[]>> = {
  '/Pod': [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  '/Event': [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
  '/Namespace': ['status.phase'],
  '/Node': ['spec.unschedulable'],
  '/Secret': ['type'],
  '/Service': ['spec.clusterIP', 'spec.type'],
  'apps/ReplicaSet': ['status.replicas'],
  'batch/Job': ['status.successful'],
  'events.k8s.io/Event': [
    'regarding.kind',
    'regarding.namespace',
    'regarding.name',
    'regarding.uid',
    'regarding.apiVersion',
    'regarding.resourceVersion',
    'regarding.fieldPath',
    'reason',
    'reportingController',
    'type',
  ],
}

const mostRequirements = 64

/** Reads `status.phase!=Running,spec.nodeName=a`. Refuses fields the kind cannot be selected by. */
export function parseFieldSelector(kind: Kind, text: string): FieldSelector {
  if (text.trim() === '') return []
  const parts = splitUnescaped(text)
  if (parts.length > mostRequirements) {
    throw new StatusError('BadRequest', `a field selector has at most ${mostRequirements} requirements`)
  }
  return parts.map((part) => {
    const requirement = part.trim()
    const at = requirement.search(/[=!]/)
    const operator = ['==', '=', '!='].find((known) => requirement.startsWith(known, at))
    if (at <= 0 || operator === undefined)
      throw new StatusError(
        'BadRequest',
        `invalid selector: '${part.slice(0, 200)}'; can't understand '${part.slice(0, 200)}'`,
      )
    const field = requirement.slice(0, at).trimEnd()
    const value = requirement.slice(at + operator.length)
    if (!isSelectable(kind, field)) {
      if (kind.unknownFields === 'keep' && !(`${kind.group}/${kind.kind}` in selectable)) {
        const why = 'is not a known field selector: only "metadata.name", "metadata.namespace"'
        throw new StatusError('BadRequest', `"${field}" ${why}`)
      }
      const label = kind.group === '' ? '' : `${kind.group}/${kind.version}, Kind=${kind.kind}: `
      throw new StatusError('BadRequest', `${label}field label not supported: ${field}`)
    }
    return { field, value: value.trim().replaceAll(/\\([\\,=])/g, '$1'), equal: operator !== '!=' }
  })
}

export function matchesFields(selector: FieldSelector, object: KubernetesObject): boolean {
  return selector.every(({ field, value, equal }) => (fieldText(object, field) === value) === equal)
}

/** The one name a selector allows, if it names one: then nothing else need be looked at. */
export function selectedName(selector: FieldSelector): string | undefined {
  return selector.find(({ field, equal }) => field === 'metadata.name' && equal)?.value
}

function isSelectable(kind: Kind, field: string): boolean {
  if (field === 'metadata.name') return true
  if (field === 'metadata.namespace') return kind.namespaced || kind.group === ''
  const fields = kind.selectableFields ?? selectable[`${kind.group}/${kind.kind}`]
  return fields?.includes(field) ?? false
}

/** Selected under another name than it has, or by the first of several that says something. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  // Newer recorders say who they are in the newer field only.
  source: ['source.component', 'reportingComponent', 'reportingController'],
  reportingController: ['reportingController', 'reportingComponent'],
  'status.successful': ['status.succeeded'],
}
const whenMissing: Readonly<Record<string, string>> = {
  'spec.hostNetwork': 'false',
  'spec.unschedulable': 'false',
  'status.replicas': '0',
  'status.successful': '0',
}

function fieldText(object: KubernetesObject, field: string): string {
  const values = (elsewhere[field] ?? [field]).map((path) => valueAtPath(object, path.split('.')))
  const value = values.find((one) => one !== undefined && one !== null && one !== '')
  if (value === undefined || value === null) return whenMissing[field] ?? ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function splitUnescaped(text: string): string[] {
  const parts: string[] = []
  let part = ''
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '\\') part += character + text.charAt(++at)
    else if (character === ',') {
      parts.push(part)
      part = ''
    } else part += character
  }
  return [...parts, part].filter((piece) => piece.trim() !== '')
}
