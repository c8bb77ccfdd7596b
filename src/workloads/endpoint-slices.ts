import { isDeepStrictEqual } from 'node:util'
import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { ObjectCache } from '../cluster/informer.ts'
import { WorkQueue } from '../cluster/work-queue.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { type EndpointSlice, endpointSliceKind, serviceNameLabel } from '../resources/endpoint-slice.ts'
import { keyOf, refOf } from '../resources/kubernetes-object.ts'
import type { Pod } from '../resources/pod.ts'
import type { Service } from '../resources/service.ts'
import { hasSelector, isSelected, managedByLabel, managedByUs, planEndpointSlices } from './endpoint-plan.ts'
import { ignoreGoneOrChanged } from './ignore-gone.ts'

export interface EndpointSlicesOptions {
  readonly client: ClusterClient
  readonly services: ObjectCache<Service>
  readonly pods: ObjectCache<Pod>
  readonly slices: ObjectCache<EndpointSlice>
  readonly clock: Clock
  readonly log: Logger
}

/** Service → EndpointSlices. Services without a selector are left alone: whoever made them says where they lead. */
export class EndpointSlices {
  readonly #options: EndpointSlicesOptions
  readonly #queue: WorkQueue

  constructor(options: EndpointSlicesOptions) {
    this.#options = options
    const { clock, log, services, pods, slices } = options
    const reconcile = (key: string, signal: AbortSignal) => this.#reconcile(key, signal)
    this.#queue = new WorkQueue({ name: 'endpointslices', clock, log, concurrency: 4, reconcile })
    services.onChange(({ object }) => this.#queue.add(keyOf(refOf(object))))
    pods.onChange(({ object, previous }) => {
      for (const service of services.list()) {
        const touched = isSelected(service, object) || (previous && isSelected(service, previous))
        if (touched) this.#queue.add(keyOf(refOf(service)))
      }
    })
    slices.onChange(({ object }) => {
      const name = object.metadata.labels?.[serviceNameLabel]
      if (name !== undefined && isOurs(object)) this.#queue.add(keyOf({ namespace: object.metadata.namespace, name }))
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { client, services, pods, slices } = this.#options
    const [namespace, name = ''] = key.split('/')
    const service = services.get({ namespace, name })
    const current = slices
      .list()
      .filter((slice) => slice.metadata.namespace === namespace && slice.metadata.labels?.[serviceNameLabel] === name)
      .filter(isOurs)
    const alive = service && service.metadata.deletionTimestamp === undefined && hasSelector(service)
    const planned = alive ? planEndpointSlices(service, pods.list()) : []
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

function isOurs(slice: EndpointSlice): boolean {
  return slice.metadata.labels?.[managedByLabel] === managedByUs
}
