import { parseResourceProfile } from '../resources/model-references.ts'
import type { Model } from '../resources/model.ts'
import type { OperatorFacts } from './operator-facts.ts'
import { knownProfiles, resolveProfile } from './resource-profile.ts'

/** Why creating a new Pod would be pointless. */
export interface Obstacle {
  readonly reason: 'EngineUnavailable' | 'ProfileUnknown' | 'FilesMissing' | 'PodRefused'
  readonly message: string
  /** It is about to go away by itself. */
  readonly passing: boolean
}

export function findObstacle(model: Model, facts: OperatorFacts): Obstacle | undefined {
  if (facts.engineUnavailable !== undefined) {
    return { reason: 'EngineUnavailable', message: facts.engineUnavailable, passing: false }
  }
  const profile = unknownProfile(model, facts)
  if (profile !== undefined) return { reason: 'ProfileUnknown', message: profile, passing: false }
  if (facts.files.state === 'missing') {
    const message = facts.files.message ?? `There are no files at ${model.spec.url}.`
    return { reason: 'FilesMissing', message, passing: facts.files.pending === true }
  }
  if (facts.podRefused !== undefined) return { reason: 'PodRefused', message: facts.podRefused, passing: false }
  return undefined
}

function unknownProfile(model: Model, { profiles }: OperatorFacts): string | undefined {
  const { profile } = parseResourceProfile(model.spec.resourceProfile)
  if (resolveProfile(profile, profiles) !== undefined) return undefined
  if (profile === 'default') return 'The resource profile default means nothing here: this cluster has no GPU card.'
  return `The resource profile ${profile} is not known here. Known: ${knownProfiles(profiles).join(', ')}.`
}
