import { StatusError } from '../../resources/status-error.ts'
import { type FieldSet, pathsOf } from './fields/field-set.ts'
import type { Manager, Managers } from './managers/managed-fields.ts'
import { compareElements, shownPath } from './fields/path-element.ts'

const mostCauses = 1000

/** The Conflict that kubectl prints, listing the fields by manager. */
export function conflictError(conflicts: ReadonlyMap<string, FieldSet>, managers: Managers): StatusError {
  const all = [...conflicts]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([id, fields]) => {
      const manager = managers.get(id)
      return { who: manager ? shownManager(manager) : id, fields: pathsOf(fields, compareElements).map(shownPath) }
    })
  const causes = all
    .flatMap(({ who, fields }) => fields.map((field) => ({ field, message: `conflict with ${who}` })))
    .map(({ field, message }) => ({ reason: 'FieldManagerConflict', message, field }))
  return new StatusError('Conflict', messageOf(all), { causes: causes.slice(0, mostCauses) })
}

function messageOf(all: ReadonlyArray<{ readonly who: string; readonly fields: readonly string[] }>): string {
  const count = all.reduce((sum, { fields }) => sum + fields.length, 0)
  const [first] = all
  if (count === 1 && first) return `Apply failed with 1 conflict: conflict with ${first.who}: ${first.fields[0]}`
  const lines = all.flatMap(({ who, fields }) => [`conflicts with ${who}:`, ...fields.map((field) => `- ${field}`)])
  return `Apply failed with ${count} conflicts: ${lines.slice(0, mostCauses).join('\n')}`
}

function shownManager({ manager, operation, apiVersion, subresource }: Manager): string {
  const where = subresource === undefined ? '' : ` with subresource ${JSON.stringify(subresource)}`
  const how = operation === 'Update' ? ` using ${apiVersion}` : ''
  return JSON.stringify(manager) + where + how
}
