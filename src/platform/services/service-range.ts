import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { Clock } from '../../foundation/clock.ts'
import { defaultServiceCidr, serviceCidrKind } from '../../resources/service-addressing-kinds.ts'

/**
 * Writes the ServiceCIDR, which every cluster has, with the current ranges of Service addresses, one for each family.
 */
export async function recordServiceRange(
  client: ClusterClient,
  ranges: readonly string[],
  clock: Clock,
): Promise<void> {
  const ref = { name: defaultServiceCidr }
  const there = await client.get(serviceCidrKind, ref)
  if (there && isDeepStrictEqual(there.spec?.cidrs, ranges)) return
  // A ServiceCIDR cannot be changed, so it is made again for other ranges.
  if (there) await client.delete(serviceCidrKind, ref)
  const lastTransitionTime = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')
  const created = await client.create(serviceCidrKind, { metadata: ref, spec: { cidrs: [...ranges] } })
  const message = 'Kubernetes Service CIDR is ready'
  const ready = { type: 'Ready', status: 'True' as const, reason: '', message, lastTransitionTime }
  await client.updateStatus(serviceCidrKind, { ...created, status: { conditions: [ready] } })
}
