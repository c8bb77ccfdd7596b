import { isDeepStrictEqual } from 'node:util'
import type { EndpointSlice } from '../../resources/endpoint-slice.ts'
import type { ObjectRef } from '../../resources/kubernetes-object.ts'
import { isMirrored, managedByMirror, planMirroredSlices } from './endpoints-mirror-plan.ts'
import { type EndpointsControllerOptions, EndpointsQueue } from './endpoints-queue.ts'

/** Endpoints written by hand → EndpointSlices, by which connections are routed. */
export class EndpointsMirror {
  readonly #options: EndpointsControllerOptions
  readonly #queue: EndpointsQueue

  constructor(options: EndpointsControllerOptions) {
    this.#options = options
    const reconcile = (ref: ObjectRef, signal: AbortSignal) => this.#reconcile(ref, signal)
    this.#queue = new EndpointsQueue({
      ...options,
      name: 'endpointslicemirroring',
      manager: managedByMirror,
      reconcile,
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const { client, services, endpoints } = this.#options
    const written = endpoints.get(ref)
    const isWanted = written !== undefined && isMirrored(written, services.get(ref))
    const planned = isWanted ? planMirroredSlices(written) : []
    await this.#queue.slices.become(planned, { client, service: ref, renewed }, signal)
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
