import type { Quantity } from '../../resources/canonical-quantity.ts'
import { type JsonObject, isJsonObject } from '../../resources/json-value.ts'
import { type Amounts, amountsIn, combined, larger, sum } from './amounts.ts'

/**
 * What a Pod requests or is limited to: the sum of its containers, or the init container that needs most together with
 * the sidecars; plus the Pod's overhead.
 */
export function podResources(pod: JsonObject, side: 'requests' | 'limits'): Amounts {
  const spec = objectAt(pod, 'spec')
  const of = (container: JsonObject) => amountsIn(objectAt(container, 'resources')[side])
  let together: Amounts = new Map<string, Quantity>()
  for (const container of containersIn(spec, 'containers')) together = combined(together, of(container), sum)
  let staying: Amounts = new Map<string, Quantity>()
  let most: Amounts = new Map<string, Quantity>()
  for (const container of containersIn(spec, 'initContainers')) {
    const needed = combined(of(container), staying, sum)
    if (container['restartPolicy'] === 'Always') {
      together = combined(together, of(container), sum)
      staying = needed
    }
    most = combined(most, needed, larger)
  }
  const total = combined(combined(together, most, larger), amountsIn(objectAt(spec, 'resources')[side]), (_sum, own) =>
    sum(undefined, own),
  )
  return combined(total, side === 'requests' || total.size > 0 ? amountsIn(spec['overhead']) : new Map(), sum)
}

export function containersIn(spec: JsonObject, list: 'containers' | 'initContainers'): JsonObject[] {
  const containers = spec[list]
  return Array.isArray(containers) ? containers.filter((container) => isJsonObject(container)) : []
}

export function objectAt(value: JsonObject, field: string): JsonObject {
  const inner = value[field]
  return isJsonObject(inner) ? inner : {}
}
