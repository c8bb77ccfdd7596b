import { isIP } from 'node:net'
import { type FieldError, duplicate, faultsOfEach, invalid, required, unsupported } from '../field-error.ts'
import { type Json, fieldIn, listIn, numberIn, objectIn, textEntriesIn, textIn, textsIn } from './json-access.ts'
import { checkAddress, checkDnsLabel, checkDnsSubdomain, checkNotNegative, checkQualifiedName } from './name-syntax.ts'
import { checkQuantity } from './resource-rules.ts'

const addressTypes = ['FQDN', 'IPv4', 'IPv6']
const quotaResources = new Set([
  'configmaps',
  'cpu',
  'ephemeral-storage',
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'memory',
  'persistentvolumeclaims',
  'pods',
  'replicationcontrollers',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
  'requests.storage',
  'resourcequotas',
  'secrets',
  'services',
  'services.loadbalancers',
  'services.nodeports',
])
const quotaScopes = [
  'BestEffort',
  'CrossNamespacePodAffinity',
  'NotBestEffort',
  'NotTerminating',
  'PriorityClass',
  'Terminating',
  'VolumeAttributesClass',
]

export function checkResourceQuota(quota: Json): FieldError[] {
  const spec = objectIn(quota, 'spec') ?? {}
  const amounts = faultsOfEach(textEntriesIn(spec, 'hard'), ([name, value]) => {
    const field = `spec.hard[${name}]`
    return [...checkQuotaName(field, name), ...checkQuantity(field, name, value)]
  })
  const scopes = faultsOfEach(textsIn(spec, 'scopes'), (scope) =>
    quotaScopes.includes(scope) ? [] : [invalid('spec.scopes', fieldIn(spec, 'scopes'), 'unsupported scope')],
  )
  return [...amounts, ...scopes]
}

function checkQuotaName(field: string, name: string): FieldError[] {
  const errors = checkQualifiedName(field, name)
  if (name.includes('/') || quotaResources.has(name) || name.includes('hugepages-')) return errors
  const unknown = invalid(field, name, 'must be a standard resource for quota')
  if (errors.length > 0) return [...errors, unknown]
  return [invalid(field, name, 'must be a standard resource type or fully qualified'), unknown]
}

export function checkLease(lease: Json): FieldError[] {
  const spec = objectIn(lease, 'spec')
  const duration = numberIn(spec, 'leaseDurationSeconds')
  const errors =
    duration !== undefined && duration <= 0
      ? [invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0')]
      : []
  return [...errors, ...checkNotNegative('spec.leaseTransitions', numberIn(spec, 'leaseTransitions'))]
}

export function checkEndpointSlice(slice: Json): FieldError[] {
  const type = textIn(slice, 'addressType')
  if (type === '') return [required('addressType')]
  if (!addressTypes.includes(type)) return [unsupported('addressType', type, addressTypes)]
  const endpoints = faultsOfEach(listIn(slice, 'endpoints'), (endpoint, index) => {
    const field = `endpoints[${index}].addresses`
    const addresses = textsIn(endpoint, 'addresses')
    const none = addresses.length === 0 ? [required(field, 'must contain at least 1 address')] : []
    return [
      ...none,
      ...faultsOfEach(addresses, (address, at) => checkEndpointAddress(`${field}[${at}]`, field, address, type)),
    ]
  })
  return [...endpoints, ...checkSlicePorts(listIn(slice, 'ports'))]
}

/**
 * Addresses of this machine are allowed here, because Pods may have them; admission refuses those that others write.
 */
function checkEndpointAddress(field: string, list: string, address: string, type: string): FieldError[] {
  if (type === 'FQDN') return checkDnsSubdomain(field, address)
  const errors = checkAddress(field, address)
  if (errors.length > 0) return errors
  const wanted = type === 'IPv4' ? 4 : 6
  return isIP(address) === wanted ? [] : [invalid(list, address, `must be an ${type} address`)]
}

function checkSlicePorts(ports: readonly unknown[]): FieldError[] {
  const names = new Set<string>()
  return faultsOfEach(ports, (port, index) => {
    const name = textIn(port, 'name')
    const syntax = name === '' ? [] : checkDnsLabel(`ports[${index}].name`, name)
    const taken = names.has(name) ? [duplicate(`ports[${index}].name`, name)] : []
    names.add(name)
    return [...syntax, ...taken]
  })
}

/** An Event is in the namespace of its object; one about the cluster is in `default`. */
export function checkEvent(event: Json): FieldError[] {
  const own = textIn(objectIn(event, 'metadata'), 'namespace')
  const its = textIn(objectIn(event, 'involvedObject'), 'namespace')
  if (its === own || (its === '' && own === 'default')) return []
  return [invalid('involvedObject.namespace', its, 'does not match event.namespace')]
}

/** The newer form of Events has more rules. */
export function checkNewEvent(event: Json): FieldError[] {
  const errors: FieldError[] = []
  const missing = (field: string) => {
    if (textIn(event, field) === '') errors.push(required(field))
  }
  missing('eventTime')
  const type = textIn(event, 'type')
  if (type !== 'Normal' && type !== 'Warning') errors.push(invalid('type', type, `has invalid value: ${type}`))
  return errors
}
