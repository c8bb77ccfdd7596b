import type { ObjectCache } from '../cluster/informer.ts'
import { type EndpointSlice, serviceNameLabel } from '../resources/endpoint-slice.ts'
import { keyOf } from '../resources/kubernetes-object.ts'
import { managedByLabel } from './endpoint-plan.ts'

/** The slices that one controller keeps, by the key of the Service they are about. */
export class ManagedSlices {
  readonly #manager: string
  readonly #byService = new Map<string, Map<string, EndpointSlice>>()

  /** `changed` is told the key of a Service whose slices have changed. */
  constructor(slices: ObjectCache<EndpointSlice>, manager: string, changed: (service: string) => void) {
    this.#manager = manager
    slices.onChange(({ type, object, previous }) => {
      const touched = new Set<string>()
      for (const slice of [object, previous]) {
        const service = slice && this.#serviceOf(slice)
        if (service === undefined) continue
        touched.add(service)
        this.#forget(service, object.metadata.name)
      }
      const service = this.#serviceOf(object)
      if (type !== 'deleted' && service !== undefined) this.#remember(service, object)
      for (const one of touched) changed(one)
    })
  }

  of(service: string): readonly EndpointSlice[] {
    return [...(this.#byService.get(service)?.values() ?? [])]
  }

  #remember(service: string, slice: EndpointSlice): void {
    const slices = this.#byService.get(service) ?? new Map<string, EndpointSlice>()
    this.#byService.set(service, slices.set(slice.metadata.name, slice))
  }

  #forget(service: string, name: string): void {
    const slices = this.#byService.get(service)
    if (slices?.delete(name) && slices.size === 0) this.#byService.delete(service)
  }

  #serviceOf({ metadata }: EndpointSlice): string | undefined {
    const name = metadata.labels?.[serviceNameLabel]
    const isOurs = metadata.labels?.[managedByLabel] === this.#manager
    return isOurs && name !== undefined ? keyOf({ namespace: metadata.namespace, name }) : undefined
  }
}
