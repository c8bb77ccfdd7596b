import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { type Reconcile, WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { EndpointSlice } from '../../resources/endpoint-slice.ts'
import type { Endpoints } from '../../resources/endpoints.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import type { Service } from '../../resources/service.ts'
import { ManagedSlices } from './managed-slices.ts'

/** What the two controllers between Endpoints and EndpointSlices need. */
export interface EndpointsControllerOptions {
  readonly client: ClusterClient
  readonly services: ObjectCache<Service>
  readonly slices: ObjectCache<EndpointSlice>
  readonly endpoints: ObjectCache<Endpoints>
  readonly clock: Clock
  readonly log: Logger
}

export interface EndpointsQueueOptions extends EndpointsControllerOptions {
  readonly name: string
  /** Whose slices are followed: the value of their `managed-by` label. */
  readonly manager: string
  /** Everything that happens to a Service within this time is one change. */
  readonly gatherMs?: number
  readonly reconcile: Reconcile
}

/** Reconciles a Service whenever it, its Endpoints or the slices of one manager change: all three share its name. */
export class EndpointsQueue {
  readonly slices: ManagedSlices
  readonly #queue: WorkQueue

  constructor({ services, slices, endpoints, clock, log, ...options }: EndpointsQueueOptions) {
    const { name, manager, gatherMs = 0, reconcile } = options
    this.#queue = new WorkQueue({ name, clock, log, concurrency: 2, reconcile })
    const changed = (service: ObjectRef) => this.#queue.addAfter(service, gatherMs)
    this.slices = new ManagedSlices(slices, manager, changed)
    services.onChange(({ object }) => changed(refOf(object)))
    endpoints.onChange(({ object }) => changed(refOf(object)))
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }
}
