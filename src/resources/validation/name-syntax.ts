import { isIP } from 'node:net'
import { type FieldError, faultsOfEach, invalid, required } from '../field-error.ts'

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
export const serviceRule =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
const nameForm =
  "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const qualifiedRule = `name part must ${nameForm}`
const wholeNameRule = `a qualified name must ${nameForm} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`
const labelValueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
const keyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
const portRule = 'must be between 1 and 65535, inclusive'
const addressRule = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'

/** Checks a text; returns what is wrong with it, if anything. */
export type NameCheck = (field: string, value: string) => FieldError[]

function pattern(rule: RegExp, longest: number, why: string): NameCheck {
  return (field, value) => {
    const errors: FieldError[] = []
    if (value.length > longest) errors.push(invalid(field, value, `must be no more than ${longest} characters`))
    // A very long name is not matched: the patterns are linear, but there is nothing to learn.
    if (value.length <= 4096 && !rule.test(value)) errors.push(invalid(field, value, why))
    return errors
  }
}

export const checkDnsLabel = pattern(dnsLabel, 63, labelRule)
export const checkDnsSubdomain = pattern(dnsSubdomain, 253, subdomainRule)
export const checkServiceLabel = pattern(serviceLabel, 63, serviceRule)
export const checkLabelValue = pattern(labelValue, 63, labelValueRule)

/** Names that only have to fit into a path: roles may be called `system:node`. */
export const checkPathSegment: NameCheck = (field, value) => {
  if (value === '.' || value === '..') return [invalid(field, value, `may not be '${value}'`)]
  return ['/', '%']
    .filter((part) => value.includes(part))
    .map((part) => invalid(field, value, `may not contain '${part}'`))
}

/** `prefix/name`, where the prefix is a DNS subdomain: label keys, annotation keys and resource names. */
export const checkQualifiedName: NameCheck = (field, key) => {
  const slash = key.indexOf('/')
  const prefix = slash < 0 ? undefined : key.slice(0, slash)
  const name = key.slice(slash + 1)
  if (name.includes('/')) return [invalid(field, key, wholeNameRule)]
  const errors: FieldError[] = []
  if (prefix !== undefined && !(prefix.length <= 253 && dnsSubdomain.test(prefix))) {
    errors.push(invalid(field, key, prefix === '' ? 'prefix part must be non-empty' : `prefix part ${subdomainRule}`))
  }
  if (name === '') errors.push(invalid(field, key, 'name part must be non-empty'))
  if (name.length > 63) errors.push(invalid(field, key, 'name part must be no more than 63 characters'))
  else if (!qualifiedName.test(name)) errors.push(invalid(field, key, qualifiedRule))
  return errors
}

export function isLabelValue(value: string): boolean {
  return value.length <= 63 && labelValue.test(value)
}

/** Keys and values of labels, or of anything that selects by them. */
export function checkLabels(field: string, labels: ReadonlyArray<readonly [string, string]>): FieldError[] {
  return faultsOfEach(labels, ([key, value]) => [...checkQualifiedName(field, key), ...checkLabelValue(field, value)])
}

/** The name of a port, where it is used to refer to one. */
export const checkPortName: NameCheck = (field, value) => {
  const errors: FieldError[] = []
  if (value.length > 15) errors.push(invalid(field, value, 'must be no more than 15 characters'))
  if (!/^[-a-z0-9]+$/.test(value)) {
    errors.push(invalid(field, value, 'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)'))
  }
  if (!/[a-z]/.test(value)) errors.push(invalid(field, value, 'must contain at least one letter (a-z)'))
  if (value.includes('--')) errors.push(invalid(field, value, 'must not contain consecutive hyphens'))
  if (/^-|-$/.test(value)) errors.push(invalid(field, value, 'must not begin or end with a hyphen'))
  return errors
}

export function checkPortNumber(field: string, value: number): FieldError[] {
  return value >= 1 && value <= 65_535 ? [] : [invalid(field, value, portRule)]
}

/** A port by number or name. */
export function checkPort(field: string, value: unknown): FieldError[] {
  if (typeof value === 'number') return checkPortNumber(field, value)
  return typeof value === 'string' ? checkPortName(field, value) : [required(field)]
}

/** The keys of ConfigMaps and Secrets, which become file names. */
export const checkDataKey: NameCheck = (field, value) => {
  const errors: FieldError[] = []
  if (value.length > 253) errors.push(invalid(field, value, 'must be no more than 253 characters'))
  if (!/^[-._a-zA-Z0-9]+$/.test(value)) errors.push(invalid(field, value, keyRule))
  else if (value === '.' || value === '..') errors.push(invalid(field, value, `must not be '${value}'`))
  else if (value.startsWith('..')) errors.push(invalid(field, value, "must not start with '..'"))
  return errors
}

export function checkAddress(field: string, value: string): FieldError[] {
  return isIP(value) === 0 ? [invalid(field, value, addressRule)] : []
}

/** At least 0, if it is set. */
export function checkNotNegative(field: string, value: number | undefined): FieldError[] {
  return value !== undefined && value < 0 ? [invalid(field, value, 'must be greater than or equal to 0')] : []
}
