import type { Cluster } from '../resources/cluster.ts'
import type { Node } from '../resources/node.ts'
import { type Container, type Pod, isPodFinished } from '../resources/pod.ts'
import { milliQuantity } from '../resources/quantity.ts'

/** Amounts by resource, in thousandths of its unit (core, byte, card), so that sums are exact. */
export type MilliAmounts = ReadonlyMap<string, number>

/** The capacity of these nodes, whether it is in use or not. */
export function capacityOf(nodes: readonly Node[]): MilliAmounts {
  return total(nodes.map(({ status }) => amounts(status?.capacity ?? status?.allocatable)))
}

/** What a cluster may use: its quota and, for resources not named there, the whole capacity. */
export function quotaOf({ spec }: Pick<Cluster, 'spec'>, capacity: MilliAmounts): MilliAmounts {
  return new Map([...capacity, ...amounts(spec.quota)])
}

/** What Pods use: each uses its requests from the moment it is scheduled until it has finished. */
export function usedBy(pods: readonly Pod[]): MilliAmounts {
  return total(pods.filter((pod) => pod.spec.nodeName !== undefined && !isPodFinished(pod)).map(requestsOf))
}

/** Objects are never changed in place, so the requests of each are computed only once. */
const known = new WeakMap<Pod['spec'], MilliAmounts>()

function requestsOf({ spec }: Pod): MilliAmounts {
  const found = known.get(spec)
  if (found) return found
  const made = requestsIn(spec)
  known.set(spec, made)
  return made
}

/** Containers run at the same time; init containers run before them, one at a time. */
function requestsIn(spec: Pod['spec']): MilliAmounts {
  const sideBySide = total(spec.containers.map(containerRequests))
  return [...(spec.initContainers ?? [])].map(containerRequests).reduce(larger, sideBySide)
}

/** A limit without a request counts as the request, too. */
function containerRequests({ resources }: Container): MilliAmounts {
  return amountsIn({ ...resources?.limits, ...resources?.requests })
}

const read = new WeakMap<object, MilliAmounts>()
const nothing: MilliAmounts = new Map()

function amounts(quantities: Readonly<Record<string, string>> | undefined): MilliAmounts {
  if (quantities === undefined) return nothing
  const found = read.get(quantities)
  if (found) return found
  const made = amountsIn(quantities)
  read.set(quantities, made)
  return made
}

function amountsIn(quantities: Readonly<Record<string, string>>): MilliAmounts {
  return new Map(Object.entries(quantities).map(([name, text]) => [name, milliQuantity(text) ?? 0]))
}

function total(list: readonly MilliAmounts[]): MilliAmounts {
  const sums = new Map<string, number>()
  for (const amountsOfOne of list) {
    for (const [name, amount] of amountsOfOne) sums.set(name, (sums.get(name) ?? 0) + amount)
  }
  return sums
}

function larger(left: MilliAmounts, right: MilliAmounts): MilliAmounts {
  const result = new Map(left)
  for (const [name, amount] of right) result.set(name, Math.max(result.get(name) ?? 0, amount))
  return result
}
