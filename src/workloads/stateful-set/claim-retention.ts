import { isDeepStrictEqual } from 'node:util'
import type { OwnerReference } from '../../resources/kubernetes-object.ts'
import type { PersistentVolumeClaim } from '../../resources/persistent-volume-claim.ts'
import type { Pod } from '../../resources/pod.ts'
import type { StatefulSet } from '../../resources/stateful-set.ts'
import { controllerReference } from '../owned/adopt-objects.ts'

/**
 * Who must own a claim so that it goes when the retention policy says so: the set, if it goes with the set; the Pod, if
 * the set is scaled down past it. Undefined when the owners are right already.
 */
export function ownersOfClaim(
  set: StatefulSet,
  pod: Pod,
  claim: PersistentVolumeClaim,
  leaving: boolean,
): readonly OwnerReference[] | undefined {
  const { whenDeleted = 'Retain', whenScaled = 'Retain' } = set.spec.persistentVolumeClaimRetentionPolicy ?? {}
  const before = claim.metadata.ownerReferences ?? []
  const foreign = before.filter(({ uid }) => uid !== set.metadata.uid && uid !== pod.metadata.uid)
  // Another controller of the claim decides about it.
  if (foreign.some(({ controller }) => controller === true)) return undefined
  const owners = [...foreign]
  if (leaving && whenScaled === 'Delete') owners.push(reference(pod))
  else if (whenDeleted === 'Delete') owners.push(reference(set))
  return isDeepStrictEqual(owners, before) ? undefined : owners
}

function reference(owner: StatefulSet | Pod): OwnerReference {
  const { blockOwnerDeletion: _blocks, ...own } = controllerReference(owner)
  return own
}
