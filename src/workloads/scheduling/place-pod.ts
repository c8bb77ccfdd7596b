import { type Node, isNodeReady } from '../../resources/node.ts'
import type { Pod } from '../../resources/pod.ts'
import { milliQuantity } from '../../resources/quantity.ts'
import { hasPortConflict } from './host-port-claims.ts'
import { isWantedNode } from './node-affinity.ts'
import { type Amounts, podRequests } from './pod-requests.ts'
import { untoleratedTaint } from './tolerated-taints.ts'

export type Placement = { readonly node: string } | { readonly unschedulable: string }

/** Finds a node with room for the Pod: the one with fewest free cards, to keep cards together for large models. */
export function placePod(pod: Pod, nodes: readonly Node[], usedByNode: ReadonlyMap<string, Amounts>): Placement {
  const unsupported = requiredAffinity(pod)
  if (unsupported) return { unschedulable: `${unsupported} is not supported by this scheduler; use spec.nodeSelector.` }
  const requests = podRequests(pod)
  const obstacles = new Map<string, number>()
  let best: { readonly name: string; readonly spare: number } | undefined
  for (const node of nodes) {
    const used = usedByNode.get(node.metadata.name)
    const found = obstaclesOf(pod, requests, node, used)
    for (const obstacle of found) obstacles.set(obstacle, (obstacles.get(obstacle) ?? 0) + 1)
    if (found.length > 0) continue
    const spare = spareCards(node, used)
    if (!best || spare < best.spare) best = { name: node.metadata.name, spare }
  }
  if (best) return { node: best.name }
  const reasons = [...obstacles].map(([reason, count]) => `${count} ${reason}`).sort()
  const why = reasons.length > 0 ? `: ${reasons.join(', ')}.` : '.'
  return { unschedulable: `0/${nodes.length} nodes are available${why}` }
}

function obstaclesOf(pod: Pod, requests: Amounts, node: Node, used: Amounts | undefined): string[] {
  if (node.spec?.unschedulable === true) return ['node(s) were unschedulable']
  if (!isNodeReady(node)) return ['node(s) were not ready']
  const taint = untoleratedTaint(pod, node)
  if (taint) return [`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`]
  if (!isWantedNode(pod, node)) return ["node(s) didn't match Pod's node affinity/selector"]
  if (hasPortConflict(pod, used)) return ["node(s) didn't have free ports for the requested pod ports"]
  return [...requests].flatMap(([name, amount]) => {
    if (amount === 0 || amount + (used?.get(name) ?? 0) <= allocatable(node, name)) return []
    return [name === 'pods' ? 'Too many pods' : `Insufficient ${name}`]
  })
}

function allocatable(node: Node, name: string): number {
  const quantity = node.status?.allocatable?.[name]
  return quantity === undefined ? 0 : (milliQuantity(quantity) ?? 0)
}

function spareCards(node: Node, used: Amounts | undefined): number {
  const kinds = Object.keys(node.status?.allocatable ?? {}).filter((name) => name.includes('.com/gpu-'))
  return kinds.reduce((sum, name) => sum + allocatable(node, name) - (used?.get(name) ?? 0), 0)
}

/** Required rules that are not supported; preferences may be ignored. */
function requiredAffinity(pod: Pod): string | undefined {
  const { affinity } = pod.spec
  if (typeof affinity !== 'object' || affinity === null) return undefined
  for (const [kind, rules] of Object.entries(affinity)) {
    const field = 'requiredDuringSchedulingIgnoredDuringExecution'
    if (kind === 'nodeAffinity') continue
    if (typeof rules === 'object' && rules !== null && field in rules) return `spec.affinity.${kind}.${field}`
  }
  return undefined
}
