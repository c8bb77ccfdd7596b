import { modelLabel } from '../resources/model-labels.ts'
import { parseResourceProfile } from '../resources/model-references.ts'
import type { Model } from '../resources/model.ts'
import type { Node } from '../resources/node.ts'
import { type Pod, isPodFinished } from '../resources/pod.ts'

/** How many replicas of a Model the cluster's cards have room for, when nobody else's Pods are moved. */
export function replicasThatFit(
  model: Model,
  defaultCardKind: string | undefined,
  nodes: readonly Node[],
  pods: readonly Pod[],
): number | undefined {
  const { profile, cards } = parseResourceProfile(model.spec.resourceProfile)
  const kind = profile === 'default' ? defaultCardKind : profile
  if (kind === undefined) return undefined
  const all = nodes.reduce((sum, node) => sum + Number(node.status?.allocatable?.[kind] ?? 0), 0)
  const taken = pods
    .filter((pod) => !isPodFinished(pod) && !isOf(model, pod))
    .flatMap((pod) => pod.spec.containers)
    .reduce((sum, container) => sum + Number(container.resources?.limits?.[kind] ?? 0), 0)
  return Math.max(0, Math.floor((all - taken) / cards))
}

function isOf(model: Model, pod: Pod): boolean {
  return (
    pod.metadata.namespace === model.metadata.namespace && pod.metadata.labels?.[modelLabel] === model.metadata.name
  )
}
