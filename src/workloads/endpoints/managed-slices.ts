import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { type EndpointSlice, endpointSliceKind, serviceNameLabel } from '../../resources/endpoint-slice.ts'
import { type ObjectRef, keyOf, refOf } from '../../resources/kubernetes-object.ts'
import { ignoreGoneOrChanged } from '../ignore-gone.ts'
import { managedByLabel } from './endpoint-plan.ts'

export interface SlicesToKeep {
  readonly client: ClusterClient
  readonly service: ObjectRef
  readonly renewed: (existing: EndpointSlice, planned: EndpointSlice) => EndpointSlice | undefined
}

/** The slices that one controller manages, by Service. */
export class ManagedSlices {
  readonly #manager: string
  readonly #byService = new Map<string, Map<string, EndpointSlice>>()

  /** `changed` is called for a Service whose slices have changed. */
  constructor(slices: ObjectCache<EndpointSlice>, manager: string, changed: (service: ObjectRef) => void) {
    this.#manager = manager
    slices.onChange(({ type, object, previous }) => {
      const touched = new Map<string, ObjectRef>()
      for (const slice of [object, previous]) {
        const service = slice && this.#serviceOf(slice)
        if (!service) continue
        touched.set(keyOf(service), service)
        this.#forget(keyOf(service), object.metadata.name)
      }
      const service = this.#serviceOf(object)
      if (type !== 'deleted' && service) this.#remember(keyOf(service), object)
      for (const one of touched.values()) changed(one)
    })
  }

  of(service: ObjectRef): readonly EndpointSlice[] {
    return [...(this.#byService.get(keyOf(service))?.values() ?? [])]
  }

  /**
   * Makes the Service's slices equal to the planned ones. `renewed` returns what to write in place of an existing
   * slice, if anything.
   */
  async become(
    planned: readonly EndpointSlice[],
    { client, service, renewed }: SlicesToKeep,
    signal: AbortSignal,
  ): Promise<void> {
    const current = this.of(service)
    for (const slice of planned) {
      const existing = current.find(({ metadata }) => metadata.name === slice.metadata.name)
      const next = existing && renewed(existing, slice)
      if (!existing) await client.create(endpointSliceKind, slice, signal)
      else if (next) await client.update(endpointSliceKind, next, signal)
    }
    const wanted = new Set(planned.map(({ metadata }) => metadata.name))
    for (const slice of current) {
      if (wanted.has(slice.metadata.name)) continue
      await client
        .delete(endpointSliceKind, refOf(slice), { uid: slice.metadata.uid }, signal)
        .catch(ignoreGoneOrChanged)
    }
  }

  #remember(service: string, slice: EndpointSlice): void {
    const slices = this.#byService.get(service) ?? new Map<string, EndpointSlice>()
    this.#byService.set(service, slices.set(slice.metadata.name, slice))
  }

  #forget(service: string, name: string): void {
    const slices = this.#byService.get(service)
    if (slices?.delete(name) && slices.size === 0) this.#byService.delete(service)
  }

  #serviceOf({ metadata }: EndpointSlice): ObjectRef | undefined {
    const name = metadata.labels?.[serviceNameLabel]
    const isOurs = metadata.labels?.[managedByLabel] === this.#manager
    return isOurs && name !== undefined ? { namespace: metadata.namespace, name } : undefined
  }
}
