import type { PersistentVolumeClaim } from '../../resources/persistent-volume-claim.ts'
import type { PersistentVolume } from '../../resources/persistent-volume.ts'
import { type StorageClass, isDefaultClass } from '../../resources/storage-class.ts'
import { claimOfSource, isReservedFor, nodeVolumeDriver, volumeNameOf } from './node-volume.ts'

export interface ClaimFacts {
  readonly claim: PersistentVolumeClaim
  readonly classes: readonly StorageClass[]
  /** The volume that the claim names, or the one that was already created for it. */
  readonly volume: PersistentVolume | undefined
  /** Whether a Pod wants to mount it. */
  readonly hasConsumer: boolean
}

/** What to do next with a claim that is not bound. */
export type ClaimStep =
  | { readonly step: 'take class'; readonly className: string }
  | { readonly step: 'provision'; readonly storageClass: StorageClass }
  | { readonly step: 'bind'; readonly volume: PersistentVolume }
  /** The claim stays Pending; an Event says why. */
  | { readonly step: 'wait'; readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string }

/** In the words of Kubernetes' own controller, where it has any. */
export function planClaim({ claim, classes, volume, hasConsumer }: ClaimFacts): ClaimStep {
  const { spec } = claim
  if (spec.volumeName) return planNamedVolume(claim, spec.volumeName, volume)
  const { storageClassName } = spec
  if (storageClassName === undefined) {
    const byDefault = defaultClass(classes)
    if (byDefault) return { step: 'take class', className: byDefault.metadata.name }
    return failedBinding('no persistent volumes available for this claim and no storage class is set')
  }
  if (storageClassName === '') {
    return failedBinding(
      'no persistent volumes available for this claim: this cluster binds none that were made by hand; name a storage class',
    )
  }
  const storageClass = classes.find(({ metadata }) => metadata.name === storageClassName)
  if (!storageClass) return failed(`storageclass.storage.k8s.io "${storageClassName}" not found`)
  if (storageClass.provisioner !== nodeVolumeDriver) return waitForOther(storageClass.provisioner)
  const unsupported = unsupportedWish(claim)
  if (unsupported !== undefined) return failed(unsupported)
  if (volume) return { step: 'bind', volume }
  if (storageClass.volumeBindingMode === 'WaitForFirstConsumer' && !hasConsumer) {
    const message = 'waiting for first consumer to be created before binding'
    return { step: 'wait', type: 'Normal', reason: 'WaitForFirstConsumer', message }
  }
  return { step: 'provision', storageClass }
}

/** A volume of another name or kind is not what Pods would find at the mount. */
function planNamedVolume(claim: PersistentVolumeClaim, name: string, volume: PersistentVolume | undefined): ClaimStep {
  if (!volume) return failedBinding(`volume "${name}" not found`)
  const folder = claimOfSource(volume)
  if (folder === undefined) {
    return failedBinding(`volume "${name}" is not of the driver ${nodeVolumeDriver}: this node mounts no others`)
  }
  if (volume.spec.claimRef && !isReservedFor(volume, claim)) {
    return failedBinding(`volume "${name}" already bound to a different claim.`)
  }
  if (!volume.spec.claimRef || folder !== claim.metadata.name) {
    return failedBinding(
      `volume "${name}" is not made for this claim: leave spec.volumeName out, and the claim gets a volume of its own`,
    )
  }
  return { step: 'bind', volume }
}

function unsupportedWish({ spec }: PersistentVolumeClaim): string | undefined {
  if (spec['selector'] !== undefined) return 'claim.Spec.Selector is not supported'
  if (spec['dataSource'] !== undefined || spec['dataSourceRef'] !== undefined) {
    return 'claim.Spec.DataSource is not supported: volumes are not made of snapshots or other claims'
  }
  if (spec.volumeMode === 'Block') return 'volumeMode Block is not supported: volumes are folders; ask for Filesystem'
  if (spec.accessModes?.includes('ReadWriteOncePod')) {
    return 'accessMode ReadWriteOncePod is not supported: nothing keeps a second Pod away; ask for ReadWriteOnce'
  }
  return undefined
}

/** The newest of those marked as default. */
function defaultClass(classes: readonly StorageClass[]): StorageClass | undefined {
  const made = ({ metadata }: StorageClass) => metadata.creationTimestamp ?? ''
  return classes
    .filter(isDefaultClass)
    .toSorted((a, b) => made(b).localeCompare(made(a)) || a.metadata.name.localeCompare(b.metadata.name))[0]
}

/** The phase that a volume should have; undefined when it is right already. */
export function volumePhase(volume: PersistentVolume, claim: PersistentVolumeClaim | undefined): string | undefined {
  const { claimRef } = volume.spec
  if (!claimRef) return 'Available'
  if (!claim || !isReservedFor(volume, claim)) return claimRef.uid === undefined ? 'Available' : 'Released'
  return claim.spec.volumeName === volume.metadata.name ? 'Bound' : undefined
}

export function volumeOfClaim(
  claim: PersistentVolumeClaim,
  find: (name: string) => PersistentVolume | undefined,
): PersistentVolume | undefined {
  return find(claim.spec.volumeName || volumeNameOf(claim))
}

function failedBinding(message: string): ClaimStep {
  return { step: 'wait', type: 'Warning', reason: 'FailedBinding', message }
}

function failed(message: string): ClaimStep {
  return { step: 'wait', type: 'Warning', reason: 'ProvisioningFailed', message }
}

function waitForOther(provisioner: string): ClaimStep {
  const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`
  return { step: 'wait', type: 'Normal', reason: 'ExternalProvisioning', message }
}
