import { type FieldError, faultsOfEach, mostFaults, invalid, required } from '../field-error.ts'
import { milliQuantity } from '../quantity.ts'
import { type Json, objectIn, textEntriesIn } from './json-access.ts'
import { checkQualifiedName } from './name-syntax.ts'

const containerResources = new Set(['cpu', 'memory', 'ephemeral-storage'])
const notNegative = 'must be greater than or equal to 0'

export function checkContainerResources(field: string, resources: Json | undefined): FieldError[] {
  const limits = new Map(textEntriesIn(resources, 'limits'))
  const requests = new Map(textEntriesIn(resources, 'requests'))
  const errors = faultsOfEach(limits, ([name, value]) => checkAmount(`${field}.limits[${name}]`, name, value))
  const missingLimits: FieldError[] = []
  for (const [name, value] of requests) {
    if (errors.length + missingLimits.length >= mostFaults) break
    errors.push(...checkAmount(`${field}.requests[${name}]`, name, value))
    const limit = limits.get(name)
    if (limit !== undefined) errors.push(...checkAgainstLimit(`${field}.requests`, name, value, limit))
    else if (!mayBeOvercommitted(name)) {
      missingLimits.push(required(`${field}.limits`, 'Limit must be set for non overcommitable resources'))
    }
  }
  return [...errors, ...missingLimits]
}

function checkAmount(field: string, name: string, value: string): FieldError[] {
  return [...checkContainerResourceName(field, name), ...checkQuantity(field, name, value)]
}

function checkContainerResourceName(field: string, name: string): FieldError[] {
  const syntax = checkQualifiedName(field, name)
  const isStandard = containerResources.has(name) || name.startsWith('hugepages-')
  if (name.includes('/')) return syntax
  const unknown = isStandard ? [] : [invalid(field, name, 'must be a standard resource for containers')]
  if (syntax.length > 0) return [...syntax, ...unknown]
  return isStandard ? [] : [invalid(field, name, 'must be a standard resource type or fully qualified'), ...unknown]
}

/** Things that cannot be divided need whole numbers: cards, pods, and whatever else is counted. */
export function checkQuantity(field: string, name: string, value: string): FieldError[] {
  const milli = milliQuantity(value)
  if (milli === undefined) return []
  const errors = milli < 0 ? [invalid(field, value, notNegative)] : []
  const isWhole = name.includes('/') || wholeResources.has(name)
  return isWhole && milli % 1000 !== 0 ? [...errors, invalid(field, value, 'must be an integer')] : errors
}

const wholeResources = new Set([
  'configmaps',
  'persistentvolumeclaims',
  'pods',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'services',
  'services.loadbalancers',
  'services.nodeports',
])

function checkAgainstLimit(field: string, name: string, request: string, limit: string): FieldError[] {
  const [asked = 0, most = 0] = [milliQuantity(request), milliQuantity(limit)]
  if (!mayBeOvercommitted(name)) {
    return asked === most ? [] : [invalid(field, request, `must be equal to ${name} limit of ${limit}`)]
  }
  return asked > most ? [invalid(field, request, `must be less than or equal to ${name} limit of ${limit}`)] : []
}

function mayBeOvercommitted(name: string): boolean {
  return !name.includes('/') && !name.startsWith('hugepages-')
}

/** The amount of storage that is requested or offered. */
export function storageOf(value: Json | undefined, field: string): string | undefined {
  const amount = objectIn(value, field)?.['storage']
  return typeof amount === 'string' ? amount : undefined
}
