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
const mostFamilies = 2
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
  errors.push(...checkFamilies(spec))
  const unfit =
    addresses[0] === 'None'
      ? addresses.length > 1
        ? [invalid('spec.clusterIPs', addresses, "'None' must be the first and only value")]
        : []
      : faultsOfEach(addresses, (one, index) => checkAddress(`spec.clusterIPs[${index}]`, one))
  errors.push(...unfit)
  if (addresses.length > mostFamilies) {
    errors.push(invalid('spec.clusterIPs', addresses, `may only hold up to ${mostFamilies} values`))
  }
  return unfit.length > 0 ? errors : [...errors, ...checkFamiliesOf(addresses, textsIn(spec, 'ipFamilies'))]
}

/** One address of each family, in the order in which the families are named. */
function checkFamiliesOf(addresses: readonly string[], names: readonly string[]): FieldError[] {
  if (addresses[0] === 'None') return []
  const families = addresses.map((one) => `IPv${isIP(one)}`)
  const errors: FieldError[] = []
  if (addresses.length > 1 && (addresses.length > mostFamilies || families[0] === families[1])) {
    errors.push(invalid('spec.clusterIPs', addresses, 'may specify no more than one IP for each IP family'))
  }
  const mismatches = faultsOfEach(families.slice(0, names.length), (family, index) => {
    const name = names[index] ?? ''
    if (family === name || !addressFamilies.includes(name)) return []
    const why = `expected an ${name} value as indicated by \`ipFamilies[${index}]\``
    return [invalid(`spec.clusterIPs[${index}]`, addresses[index], why)]
  })
  return [...errors, ...mismatches]
}

/** Which families the cluster has is not known here. */
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
  return errors
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

/** An assigned address cannot be replaced; a second one comes and goes with the policy. */
export function checkServiceUpdate(next: Json, previous: Json): FieldError[] {
  const [spec, before] = [objectIn(next, 'spec') ?? {}, objectIn(previous, 'spec') ?? {}]
  const isOutside = textIn(spec, 'type') === 'ExternalName' || textIn(before, 'type') === 'ExternalName'
  if (isOutside) return []
  return [...checkAddressChange(spec, before), ...checkFamilyChange(spec, before)]
}

function checkAddressChange(spec: Json, before: Json): FieldError[] {
  const [addresses, earlier] = [addressesIn(spec), addressesIn(before)]
  if (earlier.length === 0 || (earlier[0] === 'None' && addresses[0] === 'None')) return []
  if (addresses.length === 0) return [invalid('spec.clusterIPs[0]', [], 'primary clusterIP can not be unset')]
  const compared = addresses.length === earlier.length ? earlier : earlier.slice(0, 1)
  const errors = faultsOfEach(compared, (address, index) =>
    addresses[index] === address ? [] : [invalid(`spec.clusterIPs[${index}]`, addresses, 'may not change once set')],
  )
  if (addresses.length < earlier.length) errors.push(...checkRelease(spec, 'cluster IP'))
  return errors
}

function checkFamilyChange(spec: Json, before: Json): FieldError[] {
  const [families, earlier] = [textsIn(spec, 'ipFamilies'), textsIn(before, 'ipFamilies')]
  const [isHeadless, wasHeadless] = [spec, before].map((one) => addressesIn(one)[0] === 'None')
  if (isHeadless || wasHeadless || families.length === 0 || earlier.length === 0) return []
  // Reported for the addresses already.
  if (checkFamiliesOf(addressesIn(spec), families).length > 0) return []
  const compared = families.length === earlier.length ? earlier : earlier.slice(0, 1)
  const errors = faultsOfEach(compared, (family, index) =>
    families[index] === family ? [] : [invalid('spec.ipFamilies[0]', families, 'may not change once set')],
  )
  if (families.length < earlier.length) errors.push(...checkRelease(spec, 'IP family'))
  return errors
}

function checkRelease(spec: Json, what: string): FieldError[] {
  const policy = textIn(spec, 'ipFamilyPolicy')
  if (policy === 'SingleStack') return []
  return [invalid('spec.ipFamilyPolicy', policy, `must be 'SingleStack' to release the secondary ${what}`)]
}

function addressesIn(spec: Json): readonly string[] {
  const [address, addresses] = [textIn(spec, 'clusterIP'), textsIn(spec, 'clusterIPs')]
  return addresses.length > 0 ? addresses : address === '' ? [] : [address]
}
