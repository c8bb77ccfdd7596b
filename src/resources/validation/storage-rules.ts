import { type FieldError, faultsOfEach, invalid, required, unsupported } from '../field-error.ts'
import { milliQuantity } from '../quantity.ts'
import { type Json, isObject, objectIn, textIn, textsIn } from './json-access.ts'
import { checkDnsSubdomain, checkQualifiedName } from './name-syntax.ts'
import { storageOf } from './resource-rules.ts'

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod']
const volumeModes = ['Block', 'Filesystem']
const reclaimPolicies = ['Delete', 'Recycle', 'Retain']
/** The fields of a PersistentVolume other than its source. */
export const volumeFieldsBesideSource: readonly string[] = [
  'accessModes',
  'capacity',
  'claimRef',
  'mountOptions',
  'nodeAffinity',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'volumeAttributesClassName',
  'volumeMode',
]

export function checkClaim(claim: Json): FieldError[] {
  const spec = objectIn(claim, 'spec') ?? {}
  const modes = textsIn(spec, 'accessModes')
  const errors = modes.length === 0 ? [required('spec.accessModes', 'at least 1 access mode is required')] : []
  errors.push(...checkModes(modes))
  const storage = storageOf(objectIn(spec, 'resources'), 'requests')
  if (storage === undefined) errors.push(required('spec.resources[storage]'))
  else errors.push(...checkPositive('spec.resources[storage]', storage))
  const className = textIn(spec, 'storageClassName')
  if (className !== '') errors.push(...checkDnsSubdomain('spec.storageClassName', className))
  return [...errors, ...checkVolumeMode(spec)]
}

export function checkVolume(volume: Json): FieldError[] {
  const spec = objectIn(volume, 'spec') ?? {}
  const modes = textsIn(spec, 'accessModes')
  const capacity = objectIn(spec, 'capacity') ?? {}
  const errors = modes.length === 0 ? [required('spec.accessModes')] : checkModes(modes)
  if (Object.keys(capacity).length === 0) errors.push(required('spec.capacity'))
  const storage = storageOf(spec, 'capacity')
  if (storage === undefined || Object.keys(capacity).length > 1) {
    errors.push(unsupported('spec.capacity', spec['capacity'] ?? null, ['storage']))
  }
  if (storage !== undefined) errors.push(...checkPositive('spec.capacity[storage]', storage))
  const policy = textIn(spec, 'persistentVolumeReclaimPolicy')
  if (policy !== '' && !reclaimPolicies.includes(policy)) {
    errors.push(unsupported('spec.persistentVolumeReclaimPolicy', policy, reclaimPolicies))
  }
  const sources = Object.keys(spec).filter(
    (field) => !volumeFieldsBesideSource.includes(field) && isObject(spec[field]),
  )
  if (sources.length === 0) errors.push(required('spec', 'must specify a volume type'))
  const className = textIn(spec, 'storageClassName')
  if (className !== '') errors.push(...checkDnsSubdomain('spec.storageClassName', className))
  return [...errors, ...checkVolumeMode(spec)]
}

export function checkStorageClass(storageClass: Json): FieldError[] {
  const provisioner = textIn(storageClass, 'provisioner')
  const errors =
    provisioner === '' ? [required('provisioner')] : checkQualifiedName('provisioner', provisioner.toLowerCase())
  const policy = textIn(storageClass, 'reclaimPolicy')
  if (policy !== 'Delete' && policy !== 'Retain') {
    errors.push(unsupported('reclaimPolicy', policy, ['Delete', 'Retain']))
  }
  const mode = textIn(storageClass, 'volumeBindingMode')
  if (mode !== 'Immediate' && mode !== 'WaitForFirstConsumer') {
    errors.push(unsupported('volumeBindingMode', mode, ['Immediate', 'WaitForFirstConsumer']))
  }
  return errors
}

function checkModes(modes: readonly string[]): FieldError[] {
  return faultsOfEach(modes, (mode) =>
    accessModes.includes(mode) ? [] : [unsupported('spec.accessModes', mode, accessModes)],
  )
}

function checkVolumeMode(spec: Json): FieldError[] {
  const mode = textIn(spec, 'volumeMode')
  return mode === '' || volumeModes.includes(mode) ? [] : [unsupported('spec.volumeMode', mode, volumeModes)]
}

function checkPositive(field: string, amount: string): FieldError[] {
  return (milliQuantity(amount) ?? 1) > 0 ? [] : [invalid(field, amount, 'must be greater than zero')]
}
