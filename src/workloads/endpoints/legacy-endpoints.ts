import { isDeepStrictEqual } from 'node:util'
import { type Endpoints, endpointsKind } from '../../resources/endpoints.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import { hasSelector, managedByUs } from './endpoint-plan.ts'
import { ignoreGoneOrChanged } from '../ignore-gone.ts'
import { endpointsManagedByLabel, endpointsManager, planLegacyEndpoints } from './legacy-endpoints-plan.ts'
import { type EndpointsControllerOptions, EndpointsQueue } from './endpoints-queue.ts'

/** Endpoints may lag a little: nothing in the cluster itself reads them. */
const gatherMs = 50

/** Service → Endpoints, from its slices. */
export class LegacyEndpoints {
  readonly #options: EndpointsControllerOptions
  readonly #queue: EndpointsQueue

  constructor(options: EndpointsControllerOptions) {
    this.#options = options
    const reconcile = (ref: ObjectRef, signal: AbortSignal) => this.#reconcile(ref, signal)
    this.#queue = new EndpointsQueue({ ...options, name: 'endpoints', manager: managedByUs, gatherMs, reconcile })
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
    const slices = this.#queue.slices.of(ref)
    // The slices come first; without one it is not known yet which Pods there are.
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
