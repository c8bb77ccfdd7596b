import { gatewayNamespace } from '../resources/model-labels.ts'
import { parseResourceProfile } from '../resources/model-references.ts'
import type { Model } from '../resources/model.ts'
import type { OperatorFacts } from './operator-facts.ts'
import { type ProfileFacts, knownProfiles, resolveProfile } from './resource-profile.ts'

/** Why creating a new Pod would be pointless. */
export interface Obstacle {
  readonly reason:
    'EngineUnavailable' | 'ProfileUnknown' | 'NoSuchCard' | 'WrongNamespace' | 'FilesMissing' | 'PodRefused'
  readonly message: string
  /** It is about to go away by itself. */
  readonly passing: boolean
}

export function findObstacle(model: Model, facts: OperatorFacts): Obstacle | undefined {
  if (model.metadata.namespace !== gatewayNamespace) {
    const message = `The gateway serves Models of the namespace ${gatewayNamespace} only; create it there.`
    return { reason: 'WrongNamespace', message, passing: false }
  }
  const noCard = cardObstacle(model, facts.profiles)
  if (noCard) return noCard
  if (facts.engineUnavailable !== undefined) {
    return { reason: 'EngineUnavailable', message: facts.engineUnavailable, passing: false }
  }
  if (facts.files.state === 'missing') {
    const message = facts.files.message ?? `There are no files at ${model.spec.url}.`
    return { reason: 'FilesMissing', message, passing: facts.files.pending === true }
  }
  if (facts.podRefused !== undefined) return { reason: 'PodRefused', message: facts.podRefused, passing: false }
  return undefined
}

/**
 * Why no node of this cluster can ever hold a Pod of the Model, as long as its nodes are what they are. Also said to
 * whoever applies such a Model.
 */
export function cardObstacle({ spec }: Model, profiles: ProfileFacts): Obstacle | undefined {
  const { profile, cards } = parseResourceProfile(spec.resourceProfile)
  const card = resolveProfile(profile, profiles)?.card
  if (card === undefined && profile !== 'default') {
    const message = `The resource profile ${profile} is not known here. Known: ${knownProfiles(profiles).join(', ')}.`
    return { reason: 'ProfileUnknown', message, passing: false }
  }
  if (card === undefined)
    return noSuchCard('This cluster has no GPU card, so the resource profile default means nothing.')
  const most = profiles.largestNode && (profiles.largestNode.get(card) ?? 0)
  if (most === undefined || most >= cards) return undefined
  if (most === 0) return noSuchCard(`No node has ${card}.`)
  return noSuchCard(`No node has ${cards} ${card}; the largest has ${most}.`)
}

function noSuchCard(message: string): Obstacle {
  return { reason: 'NoSuchCard', message, passing: false }
}
