import { gatewayNamespace } from '../resources/model-labels.ts'
import { parseResourceProfile } from '../resources/model-references.ts'
import type { Model } from '../resources/model.ts'
import { builtInEngines } from './engines/built-in-engines.ts'
import { type EngineTable, resolveEngine } from './engines/engine.ts'
import { layoutOf } from './groups/model-layout.ts'
import type { OperatorFacts } from './operator-facts.ts'
import { type ProfileFacts, knownProfiles, resolveProfile } from './resource-profile.ts'

/** Why creating a new Pod would be pointless. */
export interface Obstacle {
  readonly reason:
    | 'EngineUnknown'
    | 'EngineUnavailable'
    | 'AdaptersUnsupported'
    | 'ProfileUnknown'
    | 'NoSuchCard'
    | 'WrongNamespace'
    | 'OptionUnknown'
    | 'FilesMissing'
    | 'FilesUnusable'
    | 'PodRefused'
    | 'StartGivenUp'
  readonly message: string
  /** It is about to go away by itself. */
  readonly passing: boolean
}

export function findObstacle(model: Model, facts: OperatorFacts): Obstacle | undefined {
  if (model.metadata.namespace !== gatewayNamespace) {
    const message = `The gateway serves Models of the namespace ${gatewayNamespace} only; create it there.`
    return { reason: 'WrongNamespace', message, passing: false }
  }
  const unknown = engineObstacle(model, facts.engines)
  if (unknown) return unknown
  const noAdapters = adapterObstacle(model, facts.engines)
  if (noAdapters) return noAdapters
  const noCard = cardObstacle(model, facts.profiles, facts.engines)
  if (noCard) return noCard
  const wrongOption = optionObstacle(model, facts)
  if (wrongOption) return wrongOption
  if (facts.engineUnavailable !== undefined) {
    return { reason: 'EngineUnavailable', message: facts.engineUnavailable, passing: false }
  }
  if (facts.files.state === 'missing') {
    const message = facts.files.message ?? `There are no files at ${model.spec.url}.`
    return { reason: 'FilesMissing', message, passing: facts.files.pending === true }
  }
  if (facts.files.state === 'unusable') {
    const message = facts.files.message ?? `The engine cannot serve the files at ${model.spec.url}.`
    return { reason: 'FilesUnusable', message, passing: false }
  }
  if (facts.podRefused !== undefined) return { reason: 'PodRefused', message: facts.podRefused, passing: false }
  return undefined
}

/** A profile may have another image, and nobody knows which options that takes. */
function optionObstacle({ spec }: Model, { engines = builtInEngines, profiles }: OperatorFacts): Obstacle | undefined {
  const options = resolveEngine(spec.engine, engines)?.options
  const { profile } = parseResourceProfile(spec.resourceProfile)
  if (!options || Object.hasOwn(resolveProfile(profile, profiles)?.images ?? {}, spec.engine)) return undefined
  const unknown = (spec.args ?? [])
    .map((word) => /^--[^=]+/.exec(word)?.[0])
    .find((name) => name && !options.includes(name))
  if (unknown === undefined) return undefined
  const message = `The engine ${spec.engine} has no option ${unknown}; take it out of spec.args. It has: ${options.join(', ')}.`
  return { reason: 'OptionUnknown', message, passing: false }
}

/** Also said to whoever applies such a Model. */
export function engineObstacle({ spec }: Model, engines: EngineTable = builtInEngines): Obstacle | undefined {
  if (resolveEngine(spec.engine, engines)) return undefined
  const known = Object.keys(engines).sort().join(', ')
  return {
    reason: 'EngineUnknown',
    message: `The engine ${spec.engine} is not known here. Known: ${known}.`,
    passing: false,
  }
}

/** Also said to whoever applies such a Model. */
export function adapterObstacle({ spec }: Model, engines: EngineTable = builtInEngines): Obstacle | undefined {
  if ((spec.adapters ?? []).length === 0 || resolveEngine(spec.engine, engines)?.adapters) return undefined
  const able = Object.keys(engines).filter((name) => resolveEngine(name, engines)?.adapters)
  const message = `The engine ${spec.engine} loads no adapters; remove spec.adapters, or use one that does: ${able.join(', ')}.`
  return { reason: 'AdaptersUnsupported', message, passing: false }
}

/**
 * Why the nodes of this cluster can never hold a replica of the Model, as long as they are what they are. Also said to
 * whoever applies such a Model.
 */
export function cardObstacle(
  model: Model,
  profiles: ProfileFacts,
  engines: EngineTable | undefined,
): Obstacle | undefined {
  const { profile } = parseResourceProfile(model.spec.resourceProfile)
  const card = resolveProfile(profile, profiles)?.card
  if (card === undefined && profile !== 'default') {
    const message = `The resource profile ${profile} is not known here. Known: ${knownProfiles(profiles).join(', ')}.`
    return { reason: 'ProfileUnknown', message, passing: false }
  }
  if (card === undefined)
    return noSuchCard('This cluster has no GPU card, so the resource profile default means nothing.')
  const layout = layoutOf(model, card, profiles, engines)
  return 'problem' in layout ? noSuchCard(layout.problem) : undefined
}

function noSuchCard(message: string): Obstacle {
  return { reason: 'NoSuchCard', message, passing: false }
}
