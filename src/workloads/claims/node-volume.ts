import type { NewObject } from '../../cluster/cluster-client.ts'
import type { PersistentVolumeClaim } from '../../resources/persistent-volume-claim.ts'
import type { PersistentVolume } from '../../resources/persistent-volume.ts'
import { milliQuantity } from '../../resources/quantity.ts'
import type { StorageClass } from '../../resources/storage-class.ts'

/** The provisioner of storage classes and the driver of volumes that are folders of the node. */
export const nodeVolumeDriver = 'volumes.sluice.dev'
export const claimProtection = 'kubernetes.io/pvc-protection'
export const volumeProtection = 'kubernetes.io/pv-protection'

const provisionedBy = 'pv.kubernetes.io/provisioned-by'

/** The handle is the claim's name: folders and paths of the machine are not shown. */
export function nodeVolumeSource(claim: string): { readonly driver: string; readonly volumeHandle: string } {
  return { driver: nodeVolumeDriver, volumeHandle: claim }
}

/** The claim whose folder a volume is; undefined for other volumes, which this node cannot mount. */
export function claimOfSource({ spec }: PersistentVolume): string | undefined {
  const csi: unknown = spec['csi']
  if (typeof csi !== 'object' || csi === null || !('driver' in csi) || !('volumeHandle' in csi)) return undefined
  return csi.driver === nodeVolumeDriver && typeof csi.volumeHandle === 'string' ? csi.volumeHandle : undefined
}

/** Whether the volume was created for a claim, and not by somebody who wants to keep it. */
export function isProvisioned({ metadata }: PersistentVolume): boolean {
  return metadata.annotations?.[provisionedBy] === nodeVolumeDriver
}

export function volumeNameOf({ metadata }: PersistentVolumeClaim): string {
  return `pvc-${metadata.uid ?? ''}`
}

/** Whether the volume is for this claim, and not for an earlier one of the same name. */
export function isReservedFor({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { claimRef } = spec
  if (claimRef?.namespace !== metadata.namespace || claimRef?.name !== metadata.name) return false
  return claimRef.uid === undefined || claimRef.uid === metadata.uid
}

/**
 * The volume of a claim. If the folder was not empty, its content came from somebody else and outlives the claim,
 * whatever the class says.
 */
export function newVolume(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  folder: 'empty' | 'filled',
): NewObject<PersistentVolume> {
  const { name, namespace, uid, resourceVersion } = claim.metadata
  return {
    metadata: {
      name: volumeNameOf(claim),
      annotations: { [provisionedBy]: nodeVolumeDriver },
      finalizers: [volumeProtection],
    },
    spec: {
      capacity: { storage: requestedStorage(claim) },
      accessModes: claim.spec.accessModes,
      volumeMode: 'Filesystem',
      persistentVolumeReclaimPolicy: folder === 'filled' ? 'Retain' : (storageClass.reclaimPolicy ?? 'Delete'),
      storageClassName: storageClass.metadata.name,
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion },
      csi: nodeVolumeSource(name),
    },
  }
}

export function requestedStorage({ spec }: PersistentVolumeClaim): string {
  return spec.resources?.requests?.['storage'] ?? '0'
}

/** A folder has no size of its own: a claim that asks for more than its volume has gets it. */
export function grownCapacity(claim: PersistentVolumeClaim, volume: PersistentVolume): string | undefined {
  const asked = requestedStorage(claim)
  const has = volume.spec.capacity?.['storage'] ?? '0'
  return (milliQuantity(asked) ?? 0) > (milliQuantity(has) ?? 0) ? asked : undefined
}
