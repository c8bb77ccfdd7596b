import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { EndpointSlice } from '../../resources/endpoint-slice.ts'
import { type Endpoints, endpointsKind } from '../../resources/endpoints.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import type { Service } from '../../resources/service.ts'
import { hasSelector, managedByUs } from './endpoint-plan.ts'
import { ignoreGoneOrChanged } from '../ignore-gone.ts'
import { endpointsManagedByLabel, endpointsManager, planLegacyEndpoints } from './legacy-endpoints-plan.ts'
import { ManagedSlices } from './managed-slices.ts'

export interface LegacyEndpointsOptions {
  readonly client: ClusterClient
  readonly services: ObjectCache<Service>
  readonly slices: ObjectCache<EndpointSlice>
  readonly endpoints: ObjectCache<Endpoints>
  readonly clock: Clock
  readonly log: Logger
}

/** What happens to the Pods of a Service within this is one change: nothing of the cluster's own reads Endpoints. */
const gatherMs = 50

/** Service → Endpoints, from its slices. */
export class LegacyEndpoints {
  readonly #options: LegacyEndpointsOptions
  readonly #queue: WorkQueue
  readonly #slices: ManagedSlices

  constructor(options: LegacyEndpointsOptions) {
    this.#options = options
    const { clock, log, services, slices, endpoints } = options
    const reconcile = (ref: ObjectRef, signal: AbortSignal) => this.#reconcile(ref, signal)
    this.#queue = new WorkQueue({ name: 'endpoints', clock, log, concurrency: 2, reconcile })
    const later = (service: ObjectRef) => this.#queue.addAfter(service, gatherMs)
    this.#slices = new ManagedSlices(slices, managedByUs, later)
    services.onChange(({ object }) => later(refOf(object)))
    endpoints.onChange(({ object }) => later(refOf(object)))
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const { client, services, endpoints } = this.#options
    const service = services.get(ref)
    const existing = endpoints.get(ref)
    if (!service || service.metadata.deletionTimestamp !== undefined) {
      if (existing?.metadata.labels?.[endpointsManagedByLabel] !== endpointsManager) return
      await client
        .delete(endpointsKind, refOf(existing), { uid: existing.metadata.uid }, signal)
        .catch(ignoreGoneOrChanged)
      return
    }
    const slices = this.#slices.of(ref)
    // They are made first, and then it is known who there is.
    if (!hasSelector(service) || slices.length === 0) return
    const planned = planLegacyEndpoints(service, slices)
    if (!existing) await client.create(endpointsKind, planned, signal)
    else if (!isSame(existing, planned)) {
      const { labels = {}, annotations = {} } = planned.metadata
      const metadata = { ...existing.metadata, labels, annotations }
      await client.update(endpointsKind, { ...existing, ...planned, metadata }, signal)
    }
  }
}

function isSame(existing: Endpoints, { metadata, subsets }: Endpoints): boolean {
  const { labels = {}, annotations = {} } = existing.metadata
  if (!isDeepStrictEqual(existing.subsets ?? [], subsets ?? [])) return false
  return isDeepStrictEqual(labels, metadata.labels ?? {}) && isDeepStrictEqual(annotations, metadata.annotations ?? {})
}
