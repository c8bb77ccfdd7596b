import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type EndpointSlice, endpointSliceKind } from '../../resources/endpoint-slice.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import type { Pod } from '../../resources/pod.ts'
import type { Service } from '../../resources/service.ts'
import { hasSelector, managedByUs, planEndpointSlices } from './endpoint-plan.ts'
import { ignoreGoneOrChanged } from '../ignore-gone.ts'
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
 * A hundred Pods are as many as Kubernetes has in one slice. Five for each millisecond: a fifth of a second for a
 * thousand.
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
   * All that happens to the Pods of a large Service within a moment is one change: each is as much work as the Service
   * is large.
   */
  #podChanged(service: Service): void {
    const pods = this.#servicePods.mostPodsOf(service)
    this.#queue.addAfter(refOf(service), pods < largeService ? 0 : Math.min(longestGatherMs, pods / podsPerMs))
  }

  async #reconcile(ref: ObjectRef, signal: AbortSignal): Promise<void> {
    const { client, services } = this.#options
    const service = services.get(ref)
    const current = this.#slices.of(ref)
    const alive = service && service.metadata.deletionTimestamp === undefined && hasSelector(service)
    const planned = alive ? planEndpointSlices(service, this.#servicePods.podsOf(service)) : []
    for (const slice of planned) {
      const existing = current.find(({ metadata }) => metadata.name === slice.metadata.name)
      await this.#write(slice, existing, signal)
    }
    const wanted = new Set(planned.map(({ metadata }) => metadata.name))
    for (const slice of current) {
      if (wanted.has(slice.metadata.name)) continue
      await client
        .delete(endpointSliceKind, refOf(slice), { uid: slice.metadata.uid }, signal)
        .catch(ignoreGoneOrChanged)
    }
  }

  async #write(slice: EndpointSlice, existing: EndpointSlice | undefined, signal: AbortSignal): Promise<void> {
    const { client } = this.#options
    if (!existing) {
      await client.create(endpointSliceKind, slice, signal)
      return
    }
    const { endpoints, ports } = existing
    const sameOwner = existing.metadata.ownerReferences?.[0]?.uid === slice.metadata.ownerReferences?.[0]?.uid
    if (sameOwner && isDeepStrictEqual({ endpoints, ports }, { endpoints: slice.endpoints, ports: slice.ports })) return
    const { ownerReferences = [] } = slice.metadata
    const metadata = { ...existing.metadata, ownerReferences }
    await client.update(endpointSliceKind, { ...existing, ...slice, metadata }, signal)
  }
}
