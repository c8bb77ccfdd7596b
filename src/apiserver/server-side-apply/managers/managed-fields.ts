import { isJsonObject } from '../../../resources/json-value.ts'
import { type FieldSet, nonEmpty } from '../fields/field-set.ts'
import { readFieldSet } from '../fields/path-element.ts'

/** One entry of `metadata.managedFields`: who manages which fields. */
export interface Manager {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly time?: string | undefined
  readonly fields: FieldSet
  readonly subresource?: string | undefined
}

/** The managers of an object, by `managerId`. */
export type Managers = ReadonlyMap<string, Manager>

/**
 * Identifies a manager; one that applies is the same in every version. In Kubernetes' own notation, which also
 * determines the order.
 */
export function managerId({ manager, operation, apiVersion, subresource }: Omit<Manager, 'fields'>): string {
  return JSON.stringify({
    ...(manager !== '' && { manager }),
    operation,
    ...(operation === 'Update' && { apiVersion }),
    ...(subresource !== undefined && { subresource }),
  })
}

/** Reads managed fields; `undefined` when what a client sent is not valid. */
export function readManagers(entries: unknown): Managers | undefined {
  const managers = new Map<string, Manager>()
  if (entries === undefined || entries === null) return managers
  if (!Array.isArray(entries)) return undefined
  for (const entry of entries) {
    const manager = readManager(entry)
    if (!manager) return undefined
    managers.set(managerId(manager), manager)
  }
  return managers
}

function readManager(entry: unknown): Manager | undefined {
  if (!isJsonObject(entry)) return undefined
  const { manager = '', operation, apiVersion, time, fieldsType, fieldsV1, subresource } = entry
  if (operation !== 'Apply' && operation !== 'Update') return undefined
  if (typeof apiVersion !== 'string' || apiVersion === '' || fieldsType !== 'FieldsV1') return undefined
  const fields = fieldsOf(fieldsV1 ?? {})
  if (typeof manager !== 'string' || !fields) return undefined
  return {
    manager,
    operation,
    apiVersion,
    fields,
    time: typeof time === 'string' && time !== '' ? time : undefined,
    subresource: typeof subresource === 'string' && subresource !== '' ? subresource : undefined,
  }
}

/** Most objects of a kind share field sets, and a store holds equal ones once. */
const readSets = new WeakMap<object, FieldSet>()

function fieldsOf(input: unknown): FieldSet | undefined {
  if (!isJsonObject(input)) return undefined
  const known = readSets.get(input)
  if (known) return known
  const fields = readFieldSet(input)
  if (fields) readSets.set(input, fields)
  return fields
}

const nobody: Managers = new Map()

/** Entries that were read before; objects are shared and never changed in place. */
const readEntries = new WeakMap<object, Managers>()

export function managersOf(entries: unknown): Managers {
  if (typeof entries !== 'object' || entries === null) return nobody
  const known = readEntries.get(entries)
  if (known) return known
  const read = readManagers(entries) ?? nobody
  readEntries.set(entries, read)
  return read
}

/**
 * The managers as `metadata.managedFields` holds them: those that apply first, then by time and name. `undefined` when
 * there are none.
 */
export function writeManagers(managers: Managers): Array<Record<string, unknown>> | undefined {
  const kept = [...managers.values()].filter(({ fields }) => nonEmpty(fields) !== undefined)
  if (kept.length === 0) return undefined
  return kept.sort(inOrder).map(({ manager, operation, apiVersion, time, fields, subresource }) => ({
    manager,
    operation,
    apiVersion,
    ...(time !== undefined && { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
    ...(subresource !== undefined && { subresource }),
  }))
}

function inOrder(one: Manager, other: Manager): number {
  if (one.operation !== other.operation) return one.operation < other.operation ? -1 : 1
  return (
    (one.time === other.time ? 0 : secondsOf(one) - secondsOf(other)) ||
    byText(one.manager, other.manager) ||
    byText(one.apiVersion, other.apiVersion) ||
    byText(one.subresource ?? '', other.subresource ?? '')
  )
}

export function secondsOf({ time }: Manager): number {
  const at = time === undefined ? 0 : Date.parse(time)
  return Number.isNaN(at) ? 0 : Math.floor(at / 1000)
}

function byText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
