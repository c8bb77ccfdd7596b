import type { Container, Pod } from '../../resources/pod.ts'
import { milliQuantity } from '../../resources/quantity.ts'

/** Amounts by resource name, in thousandths, so that sums are exact. */
export type Amounts = ReadonlyMap<string, number>

/**
 * What a Pod needs of a node: the sum over its containers or its largest init container, whichever is more, plus its
 * overhead. A limit without a request counts as a request. Invalid quantities were refused at admission and count as
 * nothing.
 */
export function podRequests(pod: Pod): Amounts {
  const total = new Map<string, number>([['pods', 1000]])
  for (const container of pod.spec.containers) {
    for (const [name, amount] of containerRequests(container)) total.set(name, (total.get(name) ?? 0) + amount)
  }
  for (const container of pod.spec.initContainers ?? []) {
    for (const [name, amount] of containerRequests(container)) total.set(name, Math.max(total.get(name) ?? 0, amount))
  }
  for (const [name, quantity] of Object.entries(pod.spec.overhead ?? {})) {
    total.set(name, (total.get(name) ?? 0) + (milliQuantity(quantity) ?? 0))
  }
  return total
}

function containerRequests(container: Container): [string, number][] {
  const { requests, limits } = container.resources ?? {}
  return Object.entries({ ...limits, ...requests }).map(([name, quantity]) => [name, milliQuantity(quantity) ?? 0])
}
