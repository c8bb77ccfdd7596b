import { type FieldError, faultsOfEach, invalid, required } from '../field-error.ts'
import { type Json, isObject, listIn, objectIn, textIn } from './json-access.ts'
import { checkDataKey } from './name-syntax.ts'

const nameRule = "a valid environment variable name must consist only of printable ASCII characters other than '='"
const sources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef']
const podFields = new Set([
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
])

/** The variables of a container and their sources. */
export function checkEnvironment(field: string, container: Json): FieldError[] {
  const single = faultsOfEach(listIn(container, 'env'), (variable, index) =>
    checkVariable(`${field}.env[${index}]`, variable),
  )
  return [...single, ...checkSources(`${field}.envFrom`, listIn(container, 'envFrom'))]
}

function checkVariable(field: string, variable: unknown): FieldError[] {
  const name = textIn(variable, 'name')
  const errors = name === '' ? [required(`${field}.name`)] : checkVariableName(`${field}.name`, name)
  const from = objectIn(variable, 'valueFrom')
  return from ? [...errors, ...checkSource(`${field}.valueFrom`, from, textIn(variable, 'value'))] : errors
}

function checkVariableName(field: string, name: string): FieldError[] {
  return /^[ -<>-~]+$/.test(name) ? [] : [invalid(field, name, nameRule)]
}

function checkSource(field: string, from: Json, value: string): FieldError[] {
  const given = sources.filter((source) => isObject(from[source]))
  if (given.length === 0) {
    const why = 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`'
    return [invalid(field, '', why)]
  }
  const errors: FieldError[] = []
  for (const source of ['configMapKeyRef', 'secretKeyRef']) {
    const ref = objectIn(from, source)
    if (ref) errors.push(...checkKeyRef(`${field}.${source}`, ref))
  }
  const ref = objectIn(from, 'fieldRef')
  if (ref) errors.push(...checkPodField(`${field}.fieldRef.fieldPath`, textIn(ref, 'fieldPath')))
  const resource = objectIn(from, 'resourceFieldRef')
  if (resource && textIn(resource, 'resource') === '') errors.push(required(`${field}.resourceFieldRef.resource`))
  if (value !== '') errors.push(invalid(field, '', 'may not be specified when `value` is not empty'))
  else if (given.length > 1) errors.push(invalid(field, '', 'may not have more than one field specified at a time'))
  return errors
}

function checkKeyRef(field: string, ref: Json): FieldError[] {
  const key = textIn(ref, 'key')
  const errors = textIn(ref, 'name') === '' ? [required(`${field}.name`)] : []
  return [...errors, ...(key === '' ? [required(`${field}.key`)] : checkDataKey(`${field}.key`, key))]
}

function checkPodField(field: string, path: string): FieldError[] {
  if (path === '') return [required(field)]
  if (podFields.has(path) || /^metadata\.(labels|annotations)\['.+'\]$/.test(path)) return []
  return [invalid(field, path, `error converting fieldPath: field label not supported: ${path}`)]
}

function checkSources(field: string, list: readonly unknown[]): FieldError[] {
  return faultsOfEach(list, (from, index) => {
    const here = `${field}[${index}]`
    const kinds = ['configMapRef', 'secretRef'].filter((kind) => objectIn(from, kind) !== undefined)
    const prefix = textIn(from, 'prefix')
    const errors = prefix === '' ? [] : checkVariableName(`${here}.prefix`, prefix)
    for (const kind of kinds) {
      if (textIn(objectIn(from, kind), 'name') === '') errors.push(required(`${here}.${kind}.name`))
    }
    if (kinds.length === 0) errors.push(invalid(field, '', 'must specify one of: `configMapRef` or `secretRef`'))
    if (kinds.length > 1) errors.push(invalid(field, '', 'may not have more than one field specified at a time'))
    return errors
  })
}
