import type { CardNeed } from '../../autoscaler/cards.ts'
import type { EngineTable } from '../../operator/engines/engine.ts'
import { layoutOf } from '../../operator/groups/model-layout.ts'
import { type ProfileFacts, resolveProfile } from '../../operator/resource-profile.ts'
import { parseResourceProfile } from '../../resources/model-references.ts'
import type { Model } from '../../resources/model.ts'

/** What a replica of the Model holds, and how many Pods share it; undefined if nobody knows which card it means. */
export function cardsOfReplica(model: Model, facts: ProfileFacts, engines: EngineTable): CardNeed | undefined {
  const { profile, cards: count } = parseResourceProfile(model.spec.resourceProfile)
  const kind = resolveProfile(profile, facts)?.card
  if (kind === undefined) return undefined
  const layout = layoutOf(model, kind, facts, engines)
  return { kind, count, members: 'members' in layout ? layout.members : 1 }
}
