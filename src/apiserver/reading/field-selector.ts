import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'
import { valueAtPath } from '../../resources/json-value.ts'

export interface FieldRequirement {
  readonly field: string
  readonly value: string
  readonly equal: boolean
  /** Where the field is; the first path with a value counts. */
  readonly paths: ReadonlyArray<readonly string[]>
  readonly whenMissing: string
}

export type FieldSelector = readonly FieldRequirement[]

const mostRequirements = 64

/** Parses `status.phase!=Running,spec.nodeName=a`. Refuses fields that the kind cannot be selected by. */
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
    const place = placeOf(kind, field)
    if (!place) throw notSelectable(kind, field)
    return { ...place, field, value: value.trim().replaceAll(/\\([\\,=])/g, '$1'), equal: operator !== '!=' }
  })
}

export function matchesFields(selector: FieldSelector, object: KubernetesObject): boolean {
  return selector.every((requirement) => (fieldText(object, requirement) === requirement.value) === requirement.equal)
}

/** The name that a selector asks for, if it does: then nothing else need be looked at. */
export function selectedName(selector: FieldSelector): string | undefined {
  return selector.find(({ field, equal }) => field === 'metadata.name' && equal)?.value
}

type Place = Pick<FieldRequirement, 'paths' | 'whenMissing'>

/** Where a field's value is; `undefined` when the kind cannot be selected by it. */
function placeOf(kind: Kind, name: string): Place | undefined {
  const isOfAll = name === 'metadata.name' || (name === 'metadata.namespace' && (kind.namespaced || kind.group === ''))
  if (isOfAll) return { paths: [name.split('.')], whenMissing: '' }
  for (const known of kind.selectableFields ?? []) {
    const { field, from = [field], whenMissing = '' } = typeof known === 'string' ? { field: known } : known
    if (field === name) return { paths: from.map((path) => path.split('.')), whenMissing }
  }
  return undefined
}

function notSelectable(kind: Kind, field: string): StatusError {
  if (kind.origin === 'core' && kind.selectableFields === undefined) {
    const why = 'is not a known field selector: only "metadata.name", "metadata.namespace"'
    return new StatusError('BadRequest', `"${field}" ${why}`)
  }
  const label = kind.group === '' ? '' : `${kind.group}/${kind.version}, Kind=${kind.kind}: `
  return new StatusError('BadRequest', `${label}field label not supported: ${field}`)
}

function fieldText(object: KubernetesObject, { paths, whenMissing }: Place): string {
  const values = paths.map((path) => valueAtPath(object, path))
  const value = values.find((one) => one !== undefined && one !== null && one !== '')
  if (value === undefined || value === null) return whenMissing
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
