import type { ObjectCache } from '../../cluster/informer.ts'
import { type EndpointSlice, serviceNameLabel } from '../../resources/endpoint-slice.ts'
import { type ObjectRef, keyOf } from '../../resources/kubernetes-object.ts'
import { managedByLabel } from './endpoint-plan.ts'

/** The slices that one controller keeps, by the Service they are about. */
export class ManagedSlices {
  readonly #manager: string
  readonly #byService = new Map<string, Map<string, EndpointSlice>>()

  /** `changed` is told of a Service whose slices have changed. */
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
