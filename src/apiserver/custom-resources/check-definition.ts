import {
  type FieldError,
  faultsOfEach,
  forbidden,
  invalid,
  required,
  tooMany,
  unsupported,
} from '../../resources/field-error.ts'
import { customResourceDefinitionKind } from '../../resources/custom-resource-definition-kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { invalidObject } from '../../resources/status-error.ts'
import { isJsonObject, sameJson, valueAtPath } from '../../resources/json-value.ts'
import { ErrorList } from '../structural/error-list.ts'
import type { Phases } from '../writing/write-phases.ts'
import { checkServiceLabel } from '../../resources/validation/name-syntax.ts'
import { type Definition, type Version, readDefinition } from './definition.ts'
import { JsonPath } from './json-path.ts'
import { type PrinterColumn, columnTypes } from './printer-column.ts'
import { checkStructural } from './structural-rules.ts'
import { checkValidations } from './validation-rules.ts'

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']
const simplePath = 'must be a simple json path starting with .'
const approval = 'api-approved.kubernetes.io'
/**
 * More than any definition has. Every version is a kind of its own, and every column is computed for every object of a
 * list.
 */
const mostVersions = 100
const mostColumns = 100
const mostSelectable = 8

/** Throws what is wrong with a definition by itself, regardless of other definitions. */
export function* judgeDefinition(object: KubernetesObject, previous: KubernetesObject | undefined): Phases<void> {
  const errors = yield* checkDefinition(object, previous)
  if (errors.length > 0) throw invalidObject(customResourceDefinitionKind, object.metadata.name, errors)
}

/** Everything that is wrong with a CustomResourceDefinition, with the paths and words of the real API server. */
export function* checkDefinition(
  object: KubernetesObject,
  previous: KubernetesObject | undefined,
): Phases<FieldError[]> {
  const definition = readDefinition(object)
  return [
    ...checkIdentity(definition, object),
    ...checkVersions(definition, object),
    ...checkNames(definition),
    ...(yield* checkSchemas(definition)),
    ...checkParts(definition),
    ...(previous ? checkUnchanged(definition, readDefinition(previous)) : []),
  ]
}

function checkIdentity(definition: Definition, object: KubernetesObject): FieldError[] {
  const { name, group, scope, names, conversion, preserveUnknownFields } = definition
  const errors: FieldError[] = []
  if (name !== `${names.plural}.${group}`) {
    errors.push(invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group'))
  }
  if (group === '') errors.push(required('spec.group'))
  else if (!subdomain.test(group)) errors.push(invalid('spec.group', group, 'must be a lowercase RFC 1123 subdomain'))
  else if (!group.includes('.')) errors.push(invalid('spec.group', group, 'should be a domain with at least one dot'))
  else if (isProtected(group) && !object.metadata.annotations?.[approval]) {
    const why = `protected groups must have approval annotation "${approval}", see https://github.com/kubernetes/enhancements/pull/1111`
    errors.push(required(`metadata.annotations[${approval}]`, why))
  }
  if (scope === '') errors.push(required('spec.scope'))
  else if (scope !== 'Cluster' && scope !== 'Namespaced') {
    errors.push(unsupported('spec.scope', scope, ['Cluster', 'Namespaced']))
  }
  if (preserveUnknownFields) {
    const why =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead'
    errors.push(invalid('spec.preserveUnknownFields', true, why))
  }
  if (conversion === 'Webhook') {
    // A webhook is another program that this server would have to trust and wait for.
    errors.push(forbidden('spec.conversion.strategy', 'this cluster converts versions only by the strategy None'))
  } else if (conversion !== 'None') {
    errors.push(unsupported('spec.conversion.strategy', conversion, ['None', 'Webhook']))
  }
  return errors
}

/** Groups that belong to Kubernetes itself. */
function isProtected(group: string): boolean {
  return /(^|\.)(k8s|kubernetes)\.io$/.test(group)
}

function checkVersions({ versions }: Definition, object: KubernetesObject): FieldError[] {
  if (versions.length > mostVersions) return [tooMany('spec.versions', versions.length, mostVersions)]
  const errors: FieldError[] = []
  const raw = valueAtPath(object, ['spec', 'versions']) ?? null
  for (const [index, version] of versions.entries()) {
    errors.push(...checkServiceLabel(`spec.versions[${index}].name`, version.name))
    if (!version.schema) errors.push(required(`spec.versions[${index}].schema.openAPIV3Schema`))
    if (version.deprecationWarning !== undefined && !version.deprecated) {
      const why = 'can only be set for deprecated versions'
      errors.push(invalid(`spec.versions[${index}].deprecationWarning`, version.deprecationWarning, why))
    }
  }
  if (new Set(versions.map(({ name }) => name)).size < versions.length) {
    errors.push(invalid('spec.versions', raw, 'must contain unique version names'))
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    errors.push(invalid('spec.versions', raw, 'must have exactly one version marked as storage version'))
  }
  return errors
}

function checkNames({ names }: Definition): FieldError[] {
  const { plural, singular, kind, listKind, shortNames, categories } = names
  const inLowerCase = (field: string, text: string) =>
    text === '' ? [required(field)] : checkServiceLabel(field, text)
  const inAnyCase = (field: string, text: string) =>
    text === ''
      ? [required(field)]
      : checkServiceLabel(field, text.toLowerCase()).map(({ message }) =>
          invalid(
            field,
            text,
            `may have mixed case, but should otherwise match: ${message.slice(message.indexOf(': a ') + 2)}`,
          ),
        )
  return [
    ...inLowerCase('spec.names.plural', plural),
    ...inLowerCase('spec.names.singular', singular),
    ...inAnyCase('spec.names.kind', kind),
    ...inAnyCase('spec.names.listKind', listKind),
    ...faultsOfEach(shortNames, (name, index) => inLowerCase(`spec.names.shortNames[${index}]`, name)),
    ...faultsOfEach(categories, (name, index) => inLowerCase(`spec.names.categories[${index}]`, name)),
    ...(kind !== '' && kind === listKind
      ? [invalid('spec.names.listKind', listKind, 'kind and listKind may not be the same')]
      : []),
  ]
}

function* checkSchemas({ versions }: Definition): Phases<FieldError[]> {
  if (versions.length > mostVersions) return []
  const schemas = onceEach(versions, ({ schema }) => schema, 'schema.openAPIV3Schema', 'validation.openAPIV3Schema')
  const errors = new ErrorList()
  for (const { value, path } of schemas) {
    yield
    if (errors.isFull) break
    const faults = yield* checkStructural(value, path)
    // Rules are compiled against the types of a schema, so the schema must be sound first.
    errors.add(...(faults.length > 0 ? faults : yield* checkValidations(value, path)))
  }
  return [...errors.all]
}

function checkParts({ versions }: Definition): FieldError[] {
  if (versions.length > mostVersions) return []
  const scales = onceEach(versions, ({ scale }) => scale, 'subresources.scale', 'subresources.scale')
  const columns = onceEach(versions, (version) => version.columns, 'additionalPrinterColumns')
  return [
    ...faultsOfEach(scales, ({ value, path }) => checkScale(value, path)),
    ...faultsOfEach(columns, ({ value, path }) => checkColumns(value, path)),
    ...faultsOfEach(versions, ({ selectableFields }, index) =>
      checkSelectable(selectableFields, `spec.versions[${index}].selectableFields`),
    ),
  ]
}

interface Part<T> {
  readonly value: T
  readonly path: string
}

/** A part of every version, with its path; if it is the same in all versions, only once, with the shared path. */
function onceEach<T>(
  versions: readonly Version[],
  part: (version: Version) => T | undefined,
  path: string,
  sharedPath = path,
): Array<Part<T>> {
  const [first, ...others] = versions.map(part)
  if (others.every((other) => sameJson(other, first))) {
    return first === undefined ? [] : [{ value: first, path: `spec.${sharedPath}` }]
  }
  return versions.flatMap((version, index) => {
    const value = part(version)
    return value === undefined ? [] : [{ value, path: `spec.versions[${index}].${path}` }]
  })
}

function checkColumns(columns: readonly PrinterColumn[], path: string): FieldError[] {
  return columns.length > mostColumns
    ? [tooMany(path, columns.length, mostColumns)]
    : faultsOfEach(columns, (column, index) => checkColumn(column, `${path}[${index}]`))
}

function checkScale(
  scale: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string | undefined },
  path: string,
): FieldError[] {
  return [
    ...checkPathUnder(scale.specReplicasPath, `${path}.specReplicasPath`, ['.spec']),
    ...checkPathUnder(scale.statusReplicasPath, `${path}.statusReplicasPath`, ['.status']),
    ...(scale.labelSelectorPath === undefined
      ? []
      : checkPathUnder(scale.labelSelectorPath, `${path}.labelSelectorPath`, ['.spec', '.status'])),
  ]
}

function checkPathUnder(value: string, field: string, roots: readonly string[]): FieldError[] {
  if (value === '') return [required(field)]
  if (!value.startsWith('.')) return [invalid(field, value, simplePath)]
  const isUnder = roots.some((root) => value.startsWith(`${root}.`)) && /^(\.[A-Za-z_][-\w]*)+$/.test(value)
  const where = roots.length > 1 ? `either ${roots.join(' or ')}` : roots[0]
  return isUnder ? [] : [invalid(field, value, `should be a json path under ${where}`)]
}

function checkColumn({ name, type, format, jsonPath }: PrinterColumn, path: string): FieldError[] {
  const errors: FieldError[] = []
  if (name === '') errors.push(required(`${path}.name`))
  if (type === '') errors.push(required(`${path}.type`))
  else if (!columnTypes.some((known) => known === type)) {
    errors.push(invalid(`${path}.type`, type, `must be one of ${columnTypes.join(',')}`))
  }
  if (format !== undefined && !columnFormats.includes(format)) {
    errors.push(invalid(`${path}.format`, format, `must be one of ${columnFormats.join(',')}`))
  }
  if (jsonPath === '') errors.push(required(`${path}.JSONPath`))
  else if (!jsonPath.startsWith('.') || !isJsonPath(jsonPath)) {
    errors.push(invalid(`${path}.JSONPath`, jsonPath, simplePath))
  }
  return errors
}

function isJsonPath(text: string): boolean {
  try {
    void new JsonPath(text)
    return true
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}

function checkSelectable(fields: readonly string[], path: string): FieldError[] {
  if (fields.length > mostSelectable) return [tooMany(path, fields.length, mostSelectable)]
  return faultsOfEach(fields, (field, index) =>
    /^(\.[A-Za-z_][-\w]*)+$/.test(field) && !field.startsWith('.metadata')
      ? []
      : [invalid(`${path}[${index}].jsonPath`, field, 'is an invalid path')],
  )
}

function checkUnchanged(next: Definition, before: Definition): FieldError[] {
  const errors: FieldError[] = []
  const immutable = (field: string, value: string, was: string) => {
    if (value !== was) errors.push(invalid(field, value, 'field is immutable'))
  }
  immutable('spec.group', next.group, before.group)
  immutable('spec.names.plural', next.names.plural, before.names.plural)
  immutable('spec.names.kind', next.names.kind, before.names.kind)
  immutable('spec.scope', next.scope, before.scope)
  return errors
}

/** A version in which objects are still stored must stay, or nobody could read them. */
export function checkStoredVersions(object: KubernetesObject): FieldError[] {
  const stored = valueAtPath(object, ['status', 'storedVersions'])
  const names = new Set(readDefinition(object).versions.map(({ name }) => name))
  if (!Array.isArray(stored)) return []
  return faultsOfEach(stored, (version: unknown, index) =>
    typeof version === 'string' && names.has(version)
      ? []
      : [
          invalid(
            `status.storedVersions[${index}]`,
            version,
            'missing from spec.versions; version was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ' +
              `${String(version)} and removes ${String(version)} from status.storedVersions`,
          ),
        ],
  )
}

export function isDefinition(kind: { readonly group: string; readonly plural: string }): boolean {
  return kind.group === 'apiextensions.k8s.io' && kind.plural === 'customresourcedefinitions'
}

export function isEstablished(object: KubernetesObject): boolean {
  const conditions = valueAtPath(object, ['status', 'conditions'])
  return (
    Array.isArray(conditions) &&
    conditions.some(
      (condition: unknown) =>
        isJsonObject(condition) && condition['type'] === 'Established' && condition['status'] === 'True',
    )
  )
}
