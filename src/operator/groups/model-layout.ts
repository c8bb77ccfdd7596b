import { parseResourceProfile } from '../../resources/model-references.ts'
import type { Model } from '../../resources/model.ts'
import type { EngineTable } from '../engines/engine.ts'
import type { ProfileFacts } from '../resource-profile.ts'
import { type LayoutOutcome, groupLayout } from './group-layout.ts'
import { groupSettings } from './group-settings.ts'

/** How many Pods a replica of the Model has, and how many cards each, on the nodes that there are now. */
export function layoutOf(
  model: Model,
  card: string,
  profiles: ProfileFacts,
  engines: EngineTable | undefined,
): LayoutOutcome {
  const { nodeCards, largestNode, groupsUnavailable } = profiles
  const { cards } = parseResourceProfile(model.spec.resourceProfile)
  const largest = largestNode && [largestNode.get(card) ?? 0]
  const counts = nodeCards ? (nodeCards.get(card) ?? []) : largest
  const layout = groupLayout(card, cards, counts)
  const why = groupSettings(model, engines) ? groupsUnavailable : `${model.spec.engine} runs on one node only`
  if ('problem' in layout || layout.members === 1 || why === undefined) return layout
  const most = Math.max(0, ...(counts ?? []))
  return { problem: `No node has ${cards} ${card}; the largest has ${most}, and ${why}.` }
}
