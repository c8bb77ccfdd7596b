import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { EndpointSlice } from '../../resources/endpoint-slice.ts'
import type { Endpoints } from '../../resources/endpoints.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import type { Service } from '../../resources/service.ts'
import { isMirrored, managedByMirror, planMirroredSlices } from './endpoints-mirror-plan.ts'
import { ManagedSlices } from './managed-slices.ts'

export interface EndpointsMirrorOptions {
  readonly client: ClusterClient
  readonly services: ObjectCache<Service>
  readonly slices: ObjectCache<EndpointSlice>
  readonly endpoints: ObjectCache<Endpoints>
  readonly clock: Clock
  readonly log: Logger
}

/** Endpoints that somebody wrote → EndpointSlices, which is what connections are led by. */
export class EndpointsMirror {
  readonly #options: EndpointsMirrorOptions
  readonly #queue: WorkQueue
  readonly #slices: ManagedSlices

  constructor(options: EndpointsMirrorOptions) {
    this.#options = options
    const { clock, log, services, slices, endpoints } = options
    const reconcile = (ref: ObjectRef, signal: AbortSignal) => this.#reconcile(ref, signal)
    this.#queue = new WorkQueue({ name: 'endpointslicemirroring', clock, log, concurrency: 2, reconcile })
    this.#slices = new ManagedSlices(slices, managedByMirror, (service) => this.#queue.add(service))
    services.onChange(({ object }) => this.#queue.add(refOf(object)))
    endpoints.onChange(({ object }) => this.#queue.add(refOf(object)))
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const { client, services, endpoints } = this.#options
    const written = endpoints.get(ref)
    const isWanted = written !== undefined && isMirrored(written, services.get(ref))
    const planned = isWanted ? planMirroredSlices(written) : []
    await this.#slices.become(planned, { client, service: ref, renewed }, signal)
  }
}

function renewed(existing: EndpointSlice, planned: EndpointSlice): EndpointSlice | undefined {
  const facts = ({ metadata, endpoints, ports }: EndpointSlice) => {
    const { labels = {}, annotations = {}, ownerReferences = [] } = metadata
    return { labels, annotations, owner: ownerReferences[0]?.uid, endpoints, ports }
  }
  if (isDeepStrictEqual(facts(existing), facts(planned))) return undefined
  const { labels = {}, annotations = {}, ownerReferences = [] } = planned.metadata
  return { ...existing, ...planned, metadata: { ...existing.metadata, labels, annotations, ownerReferences } }
}
