import type { Node } from '../../resources/node.ts'
import type { Pod } from '../../resources/pod.ts'
import { hostPortClaims } from './host-port-claims.ts'
import { placePod } from './place-pod.ts'
import { type Amounts, podRequests } from './pod-requests.ts'

/** The node of each Pod, in the order in which they were given. */
export type GroupPlacement = { readonly nodes: readonly string[] } | { readonly unschedulable: string }

/**
 * Finds room for all of these Pods or for none: half a group would hold cards without serving. One after the other,
 * which misses nothing where all ask for the same, as the members of a group do.
 */
export function placeGroup(
  pods: readonly Pod[],
  nodes: readonly Node[],
  usedByNode: ReadonlyMap<string, Amounts>,
): GroupPlacement {
  const used = new Map(usedByNode)
  const chosen: string[] = []
  for (const pod of pods) {
    const placement = placePod(pod, nodes, used)
    if ('unschedulable' in placement) {
      const fitting = `${chosen.length} of ${pods.length} Pods of the group fit`
      return { unschedulable: pods.length === 1 ? placement.unschedulable : `${fitting}: ${placement.unschedulable}` }
    }
    chosen.push(placement.node)
    used.set(placement.node, plus(used.get(placement.node), pod))
  }
  return { nodes: chosen }
}

function plus(used: Amounts | undefined, pod: Pod): Amounts {
  const total = new Map(used)
  for (const [name, amount] of [...podRequests(pod), ...hostPortClaims(pod)]) {
    total.set(name, (total.get(name) ?? 0) + amount)
  }
  return total
}
