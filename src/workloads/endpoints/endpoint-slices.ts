import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { EndpointSlice } from '../../resources/endpoint-slice.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import type { Pod } from '../../resources/pod.ts'
import type { Service } from '../../resources/service.ts'
import { hasSelector, managedByUs, planEndpointSlices } from './endpoint-plan.ts'
import { ManagedSlices } from './managed-slices.ts'
import { ServicePods } from './service-pods.ts'

export interface EndpointSlicesOptions {
  readonly client: ClusterClient
  readonly services: ObjectCache<Service>
  readonly pods: ObjectCache<Pod>
  readonly slices: ObjectCache<EndpointSlice>
  readonly clock: Clock
  readonly log: Logger
}

/**
 * A Service with a hundred Pods, as many as Kubernetes has in one slice, is large. Five Pods per millisecond make a
 * fifth of a second for a thousand.
 */
const largeService = 100
const podsPerMs = 5
const longestGatherMs = 1_000

/** Service → EndpointSlices. Services without a selector are left alone: whoever made them says where they lead. */
export class EndpointSlices {
  readonly #options: EndpointSlicesOptions
  readonly #queue: WorkQueue
  readonly #servicePods: ServicePods
  readonly #slices: ManagedSlices

  constructor(options: EndpointSlicesOptions) {
    this.#options = options
    const { clock, log, services, pods, slices } = options
    const reconcile = (ref: ObjectRef, signal: AbortSignal) => this.#reconcile(ref, signal)
    this.#queue = new WorkQueue({ name: 'endpointslices', clock, log, concurrency: 4, reconcile })
    services.onChange(({ object }) => this.#queue.add(refOf(object)))
    this.#servicePods = new ServicePods(pods, services)
    pods.onChange(({ object, previous }) => {
      for (const service of this.#servicePods.servicesOf(object)) this.#podChanged(service)
      if (previous) for (const service of this.#servicePods.servicesOf(previous)) this.#podChanged(service)
    })
    this.#slices = new ManagedSlices(slices, managedByUs, (service) => this.#queue.add(service))
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  /**
   * Combines everything that happens to the Pods of a large Service within a moment, because each update is as much
   * work as the Service is large.
   */
  #podChanged(service: Service): void {
    const pods = this.#servicePods.mostPodsOf(service)
    this.#queue.addAfter(refOf(service), pods < largeService ? 0 : Math.min(longestGatherMs, pods / podsPerMs))
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const { client, services } = this.#options
    const service = services.get(ref)
    const alive = service && service.metadata.deletionTimestamp === undefined && hasSelector(service)
    const planned = alive ? planEndpointSlices(service, this.#servicePods.podsOf(service)) : []
    await this.#slices.become(planned, { client, service: ref, renewed }, signal)
  }
}

/** Labels and annotations stay, whoever set them. */
function renewed(existing: EndpointSlice, planned: EndpointSlice): EndpointSlice | undefined {
  const facts = ({ metadata, endpoints, ports }: EndpointSlice) => {
    return { owner: metadata.ownerReferences?.[0]?.uid, endpoints, ports }
  }
  if (isDeepStrictEqual(facts(existing), facts(planned))) return undefined
  const { ownerReferences = [] } = planned.metadata
  return { ...existing, ...planned, metadata: { ...existing.metadata, ownerReferences } }
}
