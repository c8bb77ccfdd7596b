import { type FieldError, duplicate, faultsOfEach, forbidden } from '../field-error.ts'
import { checkContainer } from './container-rules.ts'
import { notFoundField } from './field-errors.ts'
import { type Json, fieldIn, isObject, listIn, textIn } from './json-access.ts'

/** Fields that ephemeral containers must not have, because they only inspect others. In Kubernetes' order. */
const fieldsOfOthers = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
]
const why = 'cannot be set for an Ephemeral Container'

/** Containers that are added to a running Pod to inspect it. */
export function checkEphemeralContainers(field: string, spec: Json, volumes: ReadonlySet<string>): FieldError[] {
  const others = [...listIn(spec, 'containers'), ...listIn(spec, 'initContainers')].map((other) =>
    textIn(other, 'name'),
  )
  const names = new Set(others)
  return faultsOfEach(listIn(spec, 'ephemeralContainers'), (container, index) => {
    const here = `${field}.ephemeralContainers[${index}]`
    const name = textIn(container, 'name')
    const target = textIn(container, 'targetContainerName')
    const taken = names.has(name) ? [duplicate(`${here}.name`, name)] : []
    names.add(name)
    return [
      ...checkContainer(here, isObject(container) ? withoutFieldsOfOthers(container) : {}, volumes, false),
      ...taken,
      ...(target === '' || others.includes(target) ? [] : [notFoundField(`${here}.targetContainerName`, target)]),
      ...fieldsOfOthers.filter((name) => isSet(container, name)).map((name) => forbidden(`${here}.${name}`, why)),
      ...faultsOfEach(listIn(container, 'volumeMounts'), (mount, position) =>
        ['subPath', 'subPathExpr']
          .filter((part) => textIn(mount, part) !== '')
          .map((part) => forbidden(`${here}.volumeMounts[${position}].${part}`, why)),
      ),
    ]
  })
}

/** Existing ephemeral containers can neither be removed nor changed. */
export function checkEphemeralContainersKept(after: Json, before: Json): FieldError[] {
  const field = 'spec.ephemeralContainers'
  const byName = new Map(
    listIn(after, 'ephemeralContainers').map((container) => [textIn(container, 'name'), container]),
  )
  return listIn(before, 'ephemeralContainers').flatMap((old) => {
    const name = textIn(old, 'name')
    const next = byName.get(name)
    const named = `existing ephemeral containers ${JSON.stringify(name)} may not be`
    if (next === undefined) return [forbidden(field, `${named} removed\n`)]
    return JSON.stringify(sorted(next)) === JSON.stringify(sorted(old)) ? [] : [forbidden(field, `${named} changed\n`)]
  })
}

function isSet(container: unknown, field: string): boolean {
  const value = fieldIn(container, field)
  if (Array.isArray(value)) return value.length > 0
  return isObject(value) ? Object.keys(value).length > 0 : value !== undefined && value !== null && value !== ''
}

/** These fields were refused already; their content does not matter any more. */
function withoutFieldsOfOthers(container: Json): Json {
  return Object.fromEntries(Object.entries(container).filter(([name]) => !fieldsOfOthers.includes(name)))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sorted(part)]),
  )
}
