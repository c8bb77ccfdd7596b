import { type FieldError, duplicate, forbidden, invalid, required, unsupported } from '../field-error.ts'
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
  for (const [index, address] of textsIn(spec, 'externalIPs').entries()) {
    errors.push(...checkAddress(`spec.externalIPs[${index}]`, address))
  }
  return errors
}

function checkExternalName(spec: Json): FieldError[] {
  const name = textIn(spec, 'externalName').replace(/\.$/, '')
  const errors = name === '' ? [required('spec.externalName')] : checkDnsSubdomain('spec.externalName', name)
  if (textIn(spec, 'clusterIP') === '') return errors
  return [...errors, forbidden('spec.clusterIPs', 'may not be set for ExternalName services')]
}

function checkClusterAddress(spec: Json): FieldError[] {
  const address = textIn(spec, 'clusterIP')
  return address === '' || address === 'None' ? [] : checkAddress('spec.clusterIPs[0]', address)
}

function checkPorts(ports: readonly unknown[], type: string): FieldError[] {
  const names = new Set<string>()
  const used = new Set<string>()
  return ports.flatMap((port, index) => {
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
