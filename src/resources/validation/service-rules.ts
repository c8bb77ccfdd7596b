import { isIP } from 'node:net'
import { type FieldError, duplicate, faultsOfEach, forbidden, invalid, required, unsupported } from '../field-error.ts'
import { type Json, fieldIn, listIn, numberIn, objectIn, textEntriesIn, textIn, textsIn } from './json-access.ts'
import {
  checkAddress,
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabels,
  checkPort,
  checkPortNumber,
} from './name-syntax.ts'

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const affinities = ['ClientIP', 'None']
const protocols = ['SCTP', 'TCP', 'UDP']
const trafficPolicies = ['Cluster', 'Local']
const addressFamilies = ['IPv4', 'IPv6']
const familyPolicies = ['PreferDualStack', 'RequireDualStack', 'SingleStack']

export function checkService(service: Json): FieldError[] {
  const spec = objectIn(service, 'spec') ?? {}
  const type = textIn(spec, 'type')
  const ports = listIn(spec, 'ports')
  const errors: FieldError[] = []
  const isHeadless = textIn(spec, 'clusterIP') === 'None'
  if (ports.length === 0 && !isHeadless && type !== 'ExternalName') errors.push(required('spec.ports'))
  if (type === 'ExternalName') errors.push(...checkExternalName(spec))
  else errors.push(...checkClusterAddress(spec))
  errors.push(...checkPorts(ports, type))
  errors.push(...checkLabels('spec.selector', textEntriesIn(spec, 'selector')))
  const affinity = textIn(spec, 'sessionAffinity')
  if (!affinities.includes(affinity)) errors.push(unsupported('spec.sessionAffinity', affinity, affinities))
  if (!types.includes(type)) errors.push(unsupported('spec.type', type, types))
  const traffic = textIn(spec, 'internalTrafficPolicy')
  if (traffic !== '' && !trafficPolicies.includes(traffic)) {
    errors.push(unsupported('spec.internalTrafficPolicy', traffic, trafficPolicies))
  }
  const outside = textsIn(spec, 'externalIPs')
  errors.push(...faultsOfEach(outside, (address, index) => checkAddress(`spec.externalIPs[${index}]`, address)))
  return errors
}

function checkExternalName(spec: Json): FieldError[] {
  const name = textIn(spec, 'externalName').replace(/\.$/, '')
  const errors = name === '' ? [required('spec.externalName')] : checkDnsSubdomain('spec.externalName', name)
  const unfit = (field: string) => forbidden(`spec.${field}`, 'may not be set for ExternalName services')
  if (textIn(spec, 'clusterIP') !== '' || textsIn(spec, 'clusterIPs').length > 0) errors.push(unfit('clusterIPs'))
  if (textsIn(spec, 'ipFamilies').length > 0) errors.push(unfit('ipFamilies'))
  if (textIn(spec, 'ipFamilyPolicy') !== '') errors.push(unfit('ipFamilyPolicy'))
  return errors
}

function checkClusterAddress(spec: Json): FieldError[] {
  const address = textIn(spec, 'clusterIP')
  const addresses = textsIn(spec, 'clusterIPs')
  const errors: FieldError[] = []
  if (address === '' && addresses.length > 0) {
    errors.push(invalid('spec.clusterIPs', addresses, 'must be empty when `clusterIP` is not specified'))
  } else if (addresses.length > 0 && addresses[0] !== address) {
    errors.push(invalid('spec.clusterIPs', addresses, 'first value must match `clusterIP`'))
  }
  const families = addresses.map((one) => isIP(one))
  if (families.some((family, index) => family !== 0 && families.indexOf(family) !== index)) {
    errors.push(invalid('spec.clusterIPs', addresses, 'may specify no more than one IP for each IP family'))
  }
  if (address !== '' && address !== 'None') {
    const syntax = checkAddress('spec.clusterIPs[0]', address)
    errors.push(...syntax)
    if (syntax.length === 0 && isIP(address) === 6) {
      return [...errors, invalid('spec.clusterIPs[0]', addresses, 'IPv6 is not configured on this cluster')]
    }
  }
  return [...errors, ...checkFamilies(spec)]
}

/** This cluster has one family. Services that lead only where somebody else says are free to name another. */
function checkFamilies(spec: Json): FieldError[] {
  const policy = textIn(spec, 'ipFamilyPolicy')
  const names = textsIn(spec, 'ipFamilies')
  const seen = new Set<string>()
  const errors = faultsOfEach(names, (name, index) => {
    if (!addressFamilies.includes(name)) return [unsupported(`spec.ipFamilies[${index}]`, name, addressFamilies)]
    const isFirst = seen.size < seen.add(name).size
    return isFirst ? [] : [duplicate(`spec.ipFamilies[${index}]`, name)]
  })
  if (policy !== '' && !familyPolicies.includes(policy)) {
    errors.push(unsupported('spec.ipFamilyPolicy', policy, familyPolicies))
  }
  if (errors.length > 0 || (textIn(spec, 'clusterIP') === 'None' && !objectIn(spec, 'selector'))) return errors
  if (policy === 'RequireDualStack') {
    errors.push(invalid('spec.ipFamilyPolicy', policy, 'this cluster is not configured for dual-stack services'))
  }
  const missing = faultsOfEach(names, (name, index) =>
    name === 'IPv6' ? [invalid(`spec.ipFamilies[${index}]`, name, 'not configured on this cluster')] : [],
  )
  return [...errors, ...missing]
}

function checkPorts(ports: readonly unknown[], type: string): FieldError[] {
  const names = new Set<string>()
  const used = new Set<string>()
  return faultsOfEach(ports, (port, index) => {
    const here = `spec.ports[${index}]`
    const errors = checkPortDetails(here, port, ports.length > 1, names)
    const nodePort = numberIn(port, 'nodePort') ?? 0
    if (nodePort !== 0 && (type === 'ClusterIP' || type === 'ExternalName')) {
      errors.push(forbidden(`${here}.nodePort`, `may not be used when \`type\` is '${type}'`))
    }
    const key = `${String(fieldIn(port, 'port'))}/${textIn(port, 'protocol')}`
    if (used.has(key)) {
      errors.push(duplicate(here, { protocol: textIn(port, 'protocol'), port: fieldIn(port, 'port') }))
    }
    used.add(key)
    return errors
  })
}

function checkPortDetails(field: string, port: unknown, mustBeNamed: boolean, names: Set<string>): FieldError[] {
  const name = textIn(port, 'name')
  const errors: FieldError[] = []
  if (name === '') {
    if (mustBeNamed) errors.push(required(`${field}.name`))
  } else {
    errors.push(...checkDnsLabel(`${field}.name`, name))
    if (names.has(name)) errors.push(duplicate(`${field}.name`, name))
    names.add(name)
  }
  const number = numberIn(port, 'port')
  errors.push(...checkPortNumber(`${field}.port`, number ?? 0))
  const protocol = textIn(port, 'protocol')
  if (!protocols.includes(protocol)) errors.push(unsupported(`${field}.protocol`, protocol, protocols))
  const target = fieldIn(port, 'targetPort') ?? number ?? 0
  return [...errors, ...checkPort(`${field}.targetPort`, target)]
}

/** An address that was given cannot be changed for another. */
export function checkServiceUpdate(next: Json, previous: Json): FieldError[] {
  const [spec, before] = [objectIn(next, 'spec') ?? {}, objectIn(previous, 'spec') ?? {}]
  const [address, earlier] = [textIn(spec, 'clusterIP'), textIn(before, 'clusterIP')]
  const isOutside = textIn(spec, 'type') === 'ExternalName' || textIn(before, 'type') === 'ExternalName'
  if (isOutside || earlier === '' || address === earlier) return []
  if (address === '') return [invalid('spec.clusterIPs[0]', [], 'primary clusterIP can not be unset')]
  return [invalid('spec.clusterIPs[0]', [address], 'may not change once set')]
}
