import { createHash } from 'node:crypto'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { modelLabel } from '../../resources/model-labels.ts'
import type { Model } from '../../resources/model.ts'
import { serviceKind } from '../../resources/service.ts'
import { StatusError, isStatusError } from '../../resources/status-error.ts'
import { ownerReferenceTo } from '../model-pod.ts'

const longestLabel = 63

/** The name of the Service that gives the members of a Model's groups their names. A Model's own name may be longer. */
export function groupServiceName(model: string): string {
  const whole = `model-${model}-group`
  if (whole.length <= longestLabel && !whole.includes('.')) return whole
  const tail = `-${createHash('sha256').update(model).digest('hex').slice(0, 10)}-group`
  return `model-${model}`.replaceAll('.', '-').slice(0, longestLabel - tail.length) + tail
}

/** The name of a Pod of that Service, in every Pod of the cluster. */
export function memberAddress({ metadata: { name, namespace = '' } }: Model, hostname: string): string {
  return `${hostname}.${groupServiceName(name)}.${namespace}.svc`
}

/**
 * Makes sure that the names of a Model's group members can be looked up: before they are ready, since they become ready
 * only after they have found each other.
 */
export async function ensureGroupService(client: ClusterClient, model: Model, signal: AbortSignal): Promise<void> {
  const { name, namespace } = model.metadata
  const ref = { name: groupServiceName(name), ...(namespace === undefined ? {} : { namespace }) }
  const owner = ownerReferenceTo(model)
  const known = await client.get(serviceKind, ref, signal)
  if (known?.metadata.ownerReferences?.some(({ uid }) => uid === owner.uid)) return
  if (known && known.metadata.labels?.[modelLabel] !== name) {
    throw new StatusError('Forbidden', `The Service ${ref.name} is needed for groups; give yours another name.`)
  }
  const metadata = { ...ref, labels: { [modelLabel]: name }, ownerReferences: [owner] }
  if (known) {
    // It was left by an earlier Model of the same name.
    const { uid } = known.metadata
    await client.patch(serviceKind, ref, { metadata: { uid, ownerReferences: [{ ...owner }] } }, signal)
    return
  }
  const spec = {
    type: 'ClusterIP',
    clusterIP: 'None',
    publishNotReadyAddresses: true,
    selector: { [modelLabel]: name },
  }
  try {
    await client.create(serviceKind, { metadata, spec }, signal)
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error
  }
}
