import { type FieldError, faultsOfEach, required, unsupported } from '../field-error.ts'
import { type Json, listIn, numberIn, textIn } from './json-access.ts'
import { checkAddress, checkDnsLabel, checkPortNumber } from './name-syntax.ts'

const protocols = ['SCTP', 'TCP', 'UDP']

export function checkEndpoints(endpoints: Json): FieldError[] {
  return faultsOfEach(listIn(endpoints, 'subsets'), (subset, index) => checkSubset(`subsets[${index}]`, subset))
}

function checkSubset(field: string, subset: unknown): FieldError[] {
  const ready = listIn(subset, 'addresses')
  const notReady = listIn(subset, 'notReadyAddresses')
  const ports = listIn(subset, 'ports')
  if (ready.length === 0 && notReady.length === 0) {
    return [required(field, 'must specify `addresses` or `notReadyAddresses`')]
  }
  return [
    ...faultsOfEach(ready, (address, index) => checkEndpoint(`${field}.addresses[${index}]`, address)),
    ...faultsOfEach(notReady, (address, index) => checkEndpoint(`${field}.notReadyAddresses[${index}]`, address)),
    ...faultsOfEach(ports, (port, index) => checkPort(`${field}.ports[${index}]`, port, ports.length > 1)),
  ]
}

/** Which addresses are allowed is decided by admission, because it depends on who writes. */
function checkEndpoint(field: string, address: unknown): FieldError[] {
  const hostname = textIn(address, 'hostname')
  return [
    ...checkAddress(`${field}.ip`, textIn(address, 'ip')),
    ...(hostname === '' ? [] : checkDnsLabel(`${field}.hostname`, hostname)),
  ]
}

function checkPort(field: string, port: unknown, isOneOfSeveral: boolean): FieldError[] {
  const name = textIn(port, 'name')
  const protocol = textIn(port, 'protocol')
  const errors: FieldError[] = []
  if (name !== '') errors.push(...checkDnsLabel(`${field}.name`, name))
  else if (isOneOfSeveral) errors.push(required(`${field}.name`))
  errors.push(...checkPortNumber(`${field}.port`, numberIn(port, 'port') ?? 0))
  if (protocol === '') errors.push(required(`${field}.protocol`))
  else if (!protocols.includes(protocol)) errors.push(unsupported(`${field}.protocol`, protocol, protocols))
  return errors
}
