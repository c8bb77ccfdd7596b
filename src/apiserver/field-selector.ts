import type { Kind } from '../resources/kind.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { StatusError } from '../resources/status-error.ts'
import { valueAtPath } from './json-value.ts'

export interface FieldRequirement {
  readonly field: string
  readonly value: string
  readonly equal: boolean
}

export type FieldSelector = readonly FieldRequirement[]

/** The fields each kind can be selected by, beyond its name and namespace: those the real server knows, as far as they exist here. */
const selectable: Readonly<Record<string, readonly string[]>> = {
  Pod: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  Event: [
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
  Namespace: ['status.phase'],
  Node: ['spec.unschedulable'],
  Secret: ['type'],
  Service: ['spec.clusterIP', 'spec.type'],
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
    const match = /^([^=!]+?)\s*(==|=|!=)(.*)$/s.exec(part.trim())
    if (!match)
      throw new StatusError(
        'BadRequest',
        `invalid selector: '${part.slice(0, 200)}'; can't understand '${part.slice(0, 200)}'`,
      )
    const [, field = '', operator, value = ''] = match
    if (!isSelectable(kind, field)) {
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
  return kind.group === '' && (selectable[kind.kind]?.includes(field) ?? false)
}

function fieldText(object: KubernetesObject, field: string): string {
  const path = field === 'source' ? 'source.component' : field
  const value = valueAtPath(object, path.split('.'))
  if (value === undefined || value === null) return field === 'spec.unschedulable' ? 'false' : ''
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
