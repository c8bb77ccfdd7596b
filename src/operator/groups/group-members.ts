import {
  groupGate,
  groupLabel,
  groupRankLabel,
  groupSizeAnnotation,
  memberName,
  placingAttemptsAnnotation,
} from '../../resources/serving-group.ts'
import type { Model } from '../../resources/model.ts'
import type { Container, Pod } from '../../resources/pod.ts'
import type { EngineGroup } from '../engines/engine.ts'
import { fillIn } from '../engines/placeholders.ts'
import { type NewPod, modelPodSpec, modelWords, newModelPod } from '../model-pod.ts'
import type { OperatorFacts } from '../operator-facts.ts'
import type { ResolvedProfile } from '../resource-profile.ts'
import { type MemberPlace, type MemberWords, memberArguments, memberWords } from './group-flags.ts'
import type { GroupLayout } from './group-layout.ts'
import { memberAddress } from './group-service.ts'
import { groupSettings } from './group-settings.ts'

/** What is known about a new group. */
export interface GroupOrder {
  readonly layout: GroupLayout
  readonly profile: ResolvedProfile
  /** The hash of what the Model asks for, however it is spread. */
  readonly hash: string
  readonly suffix: string
  readonly failures: number
  /** How many groups before this one were not placed as a whole. */
  readonly attempts: number
}

/**
 * The Pods of a new group, the leader first. None of them can be placed yet: half a group would hold cards and serve
 * nobody.
 */
export function newGroup(model: Model, order: GroupOrder, facts: OperatorFacts): readonly NewPod[] {
  const { layout, profile, hash, suffix, failures } = order
  const { members: size, cardsEach } = layout
  const spec = modelPodSpec(model, profile, facts, cardsEach)
  // The longest name that a member has tells how long that of the group may be.
  const tail = `-${size - 1}`
  const about = { suffix: suffix + tail, failures, engineKey: facts.engineKey, engines: facts.engines }
  const group = newModelPod(model, { spec, hash }, about).metadata.name.slice(0, -tail.length)
  const leader = memberAddress(model, hostnameOf(memberName(group, 0)))
  const settings = groupSettings(model, facts.engines) ?? {}
  const words = modelWords(model, facts)
  return Array.from({ length: size }, (_, rank) => {
    const place = { rank, size, leader }
    const told = { settings, words: memberWords(words, place) }
    const pod = newModelPod(model, { spec: memberSpec(model, spec, group, place, told), hash }, about)
    return { ...pod, metadata: memberMetadata(pod, group, place, order) }
  })
}

function memberMetadata(
  { metadata }: NewPod,
  group: string,
  { rank, size }: MemberPlace,
  { attempts }: GroupOrder,
): Pod['metadata'] {
  return {
    ...metadata,
    name: memberName(group, rank),
    labels: { ...metadata.labels, [groupLabel]: group, [groupRankLabel]: String(rank) },
    annotations: {
      ...metadata.annotations,
      [groupSizeAnnotation]: String(size),
      ...(attempts > 0 && { [placingAttemptsAnnotation]: String(attempts) }),
    },
  }
}

interface Told {
  readonly settings: EngineGroup
  readonly words: MemberWords
}

function memberSpec(
  model: Model,
  spec: Pod['spec'],
  group: string,
  place: MemberPlace,
  { settings, words }: Told,
): Pod['spec'] {
  return {
    ...spec,
    // One that ends ends the group; started again alone it would wait for the others for ever.
    restartPolicy: 'Never',
    schedulingGates: [{ name: groupGate }],
    hostname: hostnameOf(memberName(group, place.rank)),
    subdomain: place.leader.split('.')[1],
    containers: spec.containers.map((container) => ({
      ...(place.rank === 0 ? container : withoutServing(container)),
      args: [...memberArguments(model, container.args ?? [], settings, words)],
      env: [...(container.env ?? []), ...placeVariables(place), ...ownVariables(settings, words)],
    })),
  }
}

/** Only the leader answers, so only the leader can be asked how it is. */
function withoutServing(container: Container): Container {
  const {
    ports: _ports,
    startupProbe: _startup,
    readinessProbe: _readiness,
    livenessProbe: _liveness,
    ...rest
  } = container
  return rest
}

function placeVariables({ rank, size, leader }: MemberPlace) {
  return [
    { name: 'SLUICE_GROUP_RANK', value: String(rank) },
    { name: 'SLUICE_GROUP_SIZE', value: String(size) },
    { name: 'SLUICE_GROUP_LEADER', value: leader },
  ]
}

function ownVariables({ env = {} }: EngineGroup, words: MemberWords) {
  return Object.entries(env).map(([name, template]) => ({ name, value: fillIn(template, words) }))
}

function hostnameOf(podName: string): string {
  return podName.replaceAll('.', '-')
}
