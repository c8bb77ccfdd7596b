import { type FieldError, invalid, required } from '../resources/field-error.ts'
import type { Kind } from '../resources/kind.ts'
import type { ObjectMeta } from '../resources/kubernetes-object.ts'

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const dnsLabel = new RegExp(`^${label}$`)
const dnsSubdomain = new RegExp(`^${label}(\\.${label})*$`)
const serviceLabel = /^[a-z]([-a-z0-9]*[a-z0-9])?$/
const qualifiedName = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/

const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const labelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const serviceRule =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
const qualifiedRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const labelValueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

const longestAnnotations = 256 * 1024

/** What Kubernetes asks of the name, namespace, labels and annotations of any object. */
export function checkMetadata(kind: Kind, metadata: ObjectMeta): FieldError[] {
  return [
    ...checkName(kind, metadata.name),
    ...checkLabels(metadata.labels ?? {}),
    ...checkAnnotations(metadata.annotations ?? {}),
    ...checkFinalizers(metadata.finalizers ?? []),
    ...checkOwners(metadata),
  ]
}

function checkName(kind: Kind, name: string): FieldError[] {
  const field = 'metadata.name'
  if (name === '') return [required(field, 'name or generateName is required')]
  if (kind.group === '' && kind.kind === 'Namespace') return checkPattern(field, name, dnsLabel, 63, labelRule)
  if (kind.group === '' && kind.kind === 'Service') return checkPattern(field, name, serviceLabel, 63, serviceRule)
  return checkPattern(field, name, dnsSubdomain, 253, subdomainRule)
}

function checkPattern(field: string, value: string, pattern: RegExp, longest: number, rule: string): FieldError[] {
  const errors: FieldError[] = []
  if (value.length > longest) errors.push(invalid(field, value, `must be no more than ${longest} characters`))
  // A name beyond any bound is not matched at all: the patterns are linear, but there is nothing to learn.
  if (value.length <= 4096 && !pattern.test(value)) errors.push(invalid(field, value, rule))
  return errors
}

function checkLabels(labels: Record<string, string>): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...checkQualifiedName('metadata.labels', key),
    ...checkPattern('metadata.labels', value, labelValue, 63, labelValueRule),
  ])
}

function checkAnnotations(annotations: Record<string, string>): FieldError[] {
  const errors = Object.keys(annotations).flatMap((key) =>
    checkQualifiedName('metadata.annotations', key.toLowerCase()),
  )
  const size = Object.entries(annotations).reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  if (size > longestAnnotations) {
    const message = `Too long: may not be more than ${longestAnnotations} bytes`
    errors.push({ reason: 'FieldValueInvalid', field: 'metadata.annotations', message })
  }
  return errors
}

/** `prefix/name`, the prefix a DNS subdomain; the form of label keys, annotation keys and resource names. */
export function checkQualifiedName(field: string, key: string): FieldError[] {
  const slash = key.indexOf('/')
  const prefix = slash < 0 ? undefined : key.slice(0, slash)
  const name = key.slice(slash + 1)
  const errors: FieldError[] = []
  if (prefix !== undefined && !(prefix.length <= 253 && dnsSubdomain.test(prefix))) {
    errors.push(invalid(field, key, `prefix part ${subdomainRule}`))
  }
  if (name.length > 63) errors.push(invalid(field, key, 'name part must be no more than 63 characters'))
  else if (!qualifiedName.test(name)) errors.push(invalid(field, key, qualifiedRule))
  return errors
}

export function isLabelValue(value: string): boolean {
  return value.length <= 63 && labelValue.test(value)
}

function checkFinalizers(finalizers: readonly string[]): FieldError[] {
  const bare = new Set(['foregroundDeletion', 'orphan', 'kubernetes'])
  return finalizers.flatMap((finalizer) => {
    if (bare.has(finalizer)) return []
    const errors = checkQualifiedName('metadata.finalizers', finalizer)
    if (errors.length > 0 || finalizer.includes('/')) return errors
    const why = 'name is neither a standard finalizer name nor is it fully qualified'
    return [invalid('metadata.finalizers', finalizer, why)]
  })
}

function checkOwners(metadata: ObjectMeta): FieldError[] {
  const controllers = (metadata.ownerReferences ?? []).filter(({ controller }) => controller === true)
  const [first, second] = controllers
  if (first === undefined || second === undefined) return []
  const why = `Only one reference can have Controller set to true. Found "true" in references for ${first.kind}/${first.name} and ${second.kind}/${second.name}`
  return [invalid('metadata.ownerReferences', metadata.ownerReferences, why)]
}

/** A segment of a URL may be a name only if it could not be read as a path. */
export function isPathSegmentName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/%\p{Cc}]/u.test(name)
}
