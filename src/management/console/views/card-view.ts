import { modelOfPod } from '../../../resources/model-ownership.ts'
import type { Model } from '../../../resources/model.ts'
import type { Node } from '../../../resources/node.ts'
import type { ObjectRef } from '../../../resources/object-ref.ts'
import { type Pod, isPodReady } from '../../../resources/pod.ts'
import { servingName } from '../../../resources/serving-group.ts'
import { cardDisplayName, isCardName } from '../../card-name.ts'
import { simulatedNote } from '../../cluster-detail.ts'
import { capacityOf, usedBy } from '../../resource-use.ts'
import type { CardHolder, CardView } from '../console-shapes.ts'
import type { Traffic } from '../console-world.ts'

export interface CardSources {
  readonly nodes: readonly Node[]
  readonly pods: readonly Pod[]
  readonly models: { get(ref: ObjectRef): Model | undefined }
  readonly traffic: Traffic | undefined
}

export function cardViews({ nodes, pods, models, traffic }: CardSources): CardView[] {
  const there = capacityOf(nodes)
  const holders = new Map<string, CardHolder[]>()
  for (const pod of pods) {
    for (const [card, milli] of usedBy([pod])) {
      if (!isCardName(card) || milli <= 0) continue
      const model = modelOfPod(pod, models)?.metadata.name
      const holder = { model, pod: pod.metadata.name, cards: milli / 1000, use: useOf(pod, model, traffic) }
      holders.set(card, [...(holders.get(card) ?? []), holder])
    }
  }
  const names = [...new Set([...there.keys(), ...holders.keys()])].filter(isCardName).sort()
  return names.map((name) => ({
    name,
    displayName: cardDisplayName(name) + simulatedNote(nodes.filter((node) => capacityOf([node]).has(name))),
    total: (there.get(name) ?? 0) / 1000,
    holders: (holders.get(name) ?? []).sort((one, other) => (holderName(one) < holderName(other) ? -1 : 1)),
  }))
}

function useOf(pod: Pod, model: string | undefined, traffic: Traffic | undefined): CardHolder['use'] {
  if (model === undefined) return 'other'
  if ((traffic?.inFlightByEndpoint(model).get(servingName(pod)) ?? 0) > 0) return 'active'
  return isPodReady(pod) ? 'idle' : 'starting'
}

function holderName({ model = '', pod }: CardHolder): string {
  return `${model}/${pod}`
}
