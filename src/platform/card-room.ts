import type { CardHoldings } from '../autoscaler/cards.ts'
import type { Model } from '../resources/model.ts'
import type { Node } from '../resources/node.ts'
import { type Pod, isPodFinished } from '../resources/pod.ts'

/** Who holds the cards of a kind, according to the Pods' limits. `modelOf` tells which Model made a Pod, if one did. */
export function cardHoldings(
  kind: string,
  nodes: readonly Node[],
  pods: readonly Pod[],
  modelOf: (pod: Pod) => Model | undefined,
): CardHoldings {
  const free = new Map<string, number>()
  for (const { metadata, status } of nodes) free.set(metadata.name, Number(status?.allocatable?.[kind] ?? 0))
  const cardsByNode = [...free.values()]
  const heldBy = new Map<string, number>()
  const wantedBy = new Map<string, number>()
  for (const pod of pods) {
    const cards = isPodFinished(pod) ? 0 : cardsOf(pod, kind)
    if (cards === 0) continue
    const { nodeName } = pod.spec
    const model = modelOf(pod)?.metadata.name
    const key = model === undefined ? '' : `${pod.metadata.namespace}/${model}`
    if (!nodeName) {
      wantedBy.set(key, (wantedBy.get(key) ?? 0) + cards)
      continue
    }
    free.set(nodeName, (free.get(nodeName) ?? 0) - cards)
    if (key !== '') heldBy.set(key, (heldBy.get(key) ?? 0) + cards)
  }
  return { freeByNode: [...free.values()].map((cards) => Math.max(0, cards)), cardsByNode, heldBy, wantedBy }
}

function cardsOf({ spec }: Pod, kind: string): number {
  return spec.containers.reduce((sum, { resources }) => sum + Number(resources?.limits?.[kind] ?? 0), 0)
}
