import type { ObjectCache } from '../../cluster/informer.ts'
import type { PersistentVolumeClaim } from '../../resources/persistent-volume-claim.ts'
import type { Pod } from '../../resources/pod.ts'

/**
 * Which claim of a Pod keeps it from any node, in the words of Kubernetes' scheduler. Without it a Pod would begin with
 * an empty folder that belongs to nobody.
 */
export function missingClaim(pod: Pod, claims: ObjectCache<PersistentVolumeClaim>): string | undefined {
  const { namespace } = pod.metadata
  for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
    const name = persistentVolumeClaim?.claimName
    if (name === undefined) continue
    const claim = claims.get({ namespace, name })
    if (!claim) return `persistentvolumeclaim "${name}" not found`
    if (claim.metadata.deletionTimestamp !== undefined) return `persistentvolumeclaim "${name}" is being deleted`
  }
  return undefined
}
