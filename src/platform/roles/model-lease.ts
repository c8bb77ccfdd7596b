import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { gatewayNamespace } from '../../resources/model-labels.ts'
import { leaseKind } from '../../resources/lease.ts'
import { isStatusError } from '../../resources/status-error.ts'

/** Whoever holds this Lease looks after the cluster's Models: one controller at a time. */
export const controllerLease = { namespace: gatewayNamespace, name: 'sluice-controller' }

const ownIdentity = 'sluice-up'
/** As long as a Lease can be: this one is not renewed, since a cluster at rest writes nothing. */
const alwaysSeconds = 2 ** 31 - 1

/**
 * A `sluice up` with a gateway looks after its Models itself, so controllers that run in its cluster must wait; without
 * one it leaves them to those.
 */
export async function settleControllerLease(client: ClusterClient, isOwn: boolean, now: number): Promise<void> {
  const lease = await client.get(leaseKind, controllerLease)
  const isHeld = lease?.spec?.holderIdentity === ownIdentity
  if (isHeld === isOwn) return
  if (!isOwn) return client.delete(leaseKind, controllerLease)
  const time = new Date(now).toISOString().replace('Z', '000Z')
  const spec = {
    holderIdentity: ownIdentity,
    leaseDurationSeconds: alwaysSeconds,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: (lease?.spec?.leaseTransitions ?? -1) + 1,
  }
  if (lease) {
    await client.update(leaseKind, { ...lease, spec })
    return
  }
  try {
    await client.create(leaseKind, { metadata: controllerLease, spec })
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error
    return settleControllerLease(client, isOwn, now)
  }
}
