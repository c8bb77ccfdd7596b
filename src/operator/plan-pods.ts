import { modelHashLabel } from '../resources/model-labels.ts'
import { isPodOf } from '../resources/model-ownership.ts'
import { parseResourceProfile } from '../resources/model-references.ts'
import type { Model } from '../resources/model.ts'
import { type Pod, isPodTerminating } from '../resources/pod.ts'
import type { GroupLayout } from './groups/group-layout.ts'
import { newGroup } from './groups/group-members.ts'
import { groupSettings } from './groups/group-settings.ts'
import { layoutOf } from './groups/model-layout.ts'
import { type Replica, replicasIn } from './groups/replica-view.ts'
import { type NewPod, modelPodSpec, newModelPod, specHash } from './model-pod.ts'
import { type ModelStatus, modelStatus } from './model-status.ts'
import { findObstacle } from './obstacle.ts'
import type { GivenUpStart, OperatorFacts } from './operator-facts.ts'
import { planReplicas, soonest } from './plan-replicas.ts'
import { hopelessEnd } from './pod-trouble.ts'
import { type ResolvedProfile, resolveProfile } from './resource-profile.ts'

export interface PodPlan {
  readonly create: readonly NewPod[]
  /** Draining Pods that are wanted again. */
  readonly recall: readonly Pod[]
  /** Pods to be taken out of routing. */
  readonly drain: readonly Pod[]
  readonly delete: readonly Pod[]
  /** Members of groups that may be placed now, group by group. */
  readonly lift: ReadonlyArray<readonly Pod[]>
  readonly status: ModelStatus
  /** When time alone would change the plan; undefined when only an event can. */
  readonly checkAgainMs: number | undefined
  /** To be remembered: Pods of this kind are not started again for a while. */
  readonly givenUp: GivenUpStart | undefined
}

/** How often the machine is looked at again for what no event tells: files that somebody puts there, and programs. */
const filesCheckMs = 1_000
const engineCheckMs = 10_000

/** What to do so that a Model has the Pods it asks for, and the status to report. */
export function planPods(model: Model, pods: readonly Pod[], facts: OperatorFacts): PodPlan {
  const own = pods.filter((pod) => isPodOf(model, pod))
  const known = findObstacle(model, facts)
  // Nobody can reach it, whatever it asks for, so it holds no card.
  const desired = known?.reason === 'WrongNamespace' ? 0 : desiredReplicas(model)
  const template = known?.reason === 'EngineUnknown' ? undefined : replicaTemplate(model, facts)
  const { replicas, hopeless } = splitHopeless(replicasIn(own, { ...facts, wantedMembers: template?.layout.members }))
  const givenUp = givenUpStart(hopeless, template?.hash, facts)
  const obstacle = known ?? (givenUp && { reason: 'StartGivenUp', message: givenUp.message, passing: false })
  const views = replicas.map(({ view }) => view)
  const blocked = obstacle !== undefined || template === undefined

  const plan = planReplicas({ desired, pods: views, hash: template?.hash, blocked, facts })
  const going = new Set([...plan.delete, ...plan.drain])
  const delays = [plan.checkAgainMs, machineCheckOf(facts), ...replicas.map(checkAgainOf)]
  return {
    recall: plan.recall,
    drain: plan.drain,
    delete: [
      ...replicas.flatMap(({ view, members, remains }) => (plan.delete.includes(view) ? staying(members) : remains)),
      ...hopeless.flatMap(({ members }) => staying(members)),
    ],
    lift: replicas.filter(({ view, lift }) => lift.length > 0 && !going.has(view)).map(({ lift }) => lift),
    create: template ? newReplicas(model, template, plan.create, replicas, facts) : [],
    status: modelStatus(model, views, desired, obstacle, { ...facts, isGrouped: (template?.layout.members ?? 1) > 1 }),
    checkAgainMs: soonest(delays),
    givenUp,
  }
}

/** Those that hold a card for a start which cannot succeed give it back at once. */
function splitHopeless(all: readonly Replica[]): {
  readonly replicas: readonly Replica[]
  readonly hopeless: readonly Replica[]
} {
  const isHopeless = ({ members }: Replica) => members.some((pod) => hopelessEnd(pod) !== undefined)
  return { replicas: all.filter((replica) => !isHopeless(replica)), hopeless: all.filter(isHopeless) }
}

function givenUpStart(
  hopeless: readonly Replica[],
  hash: string | undefined,
  { givenUp }: OperatorFacts,
): GivenUpStart | undefined {
  if (hash === undefined) return undefined
  const pods = hopeless.flatMap(({ members }) => members)
  const message = pods
    .filter((pod) => pod.metadata.labels?.[modelHashLabel] === hash)
    .map(hopelessEnd)
    .find(Boolean)
  if (message !== undefined) return { hash, message }
  return givenUp?.hash === hash ? givenUp : undefined
}

function machineCheckOf({ files, engineUnavailable }: OperatorFacts): number | undefined {
  if (files.state === 'missing' || files.state === 'unusable') return filesCheckMs
  return engineUnavailable === undefined ? undefined : engineCheckMs
}

interface ReplicaTemplate {
  readonly spec: Pod['spec']
  readonly hash: string
  readonly profile: ResolvedProfile
  readonly layout: GroupLayout
}

function replicaTemplate(model: Model, facts: OperatorFacts): ReplicaTemplate | undefined {
  const profile = resolveProfile(parseResourceProfile(model.spec.resourceProfile).profile, facts.profiles)
  const layout = profile && layoutOf(model, profile.card, facts.profiles, facts.engines)
  if (!profile || !layout) return undefined
  // However a replica is spread over nodes, it is out of date only when the Model itself or its engine has changed.
  const spec = modelPodSpec(model, profile, facts)
  const { cards } = parseResourceProfile(model.spec.resourceProfile)
  // With one card it is never a group, so what groups are told means nothing to it.
  const told = cards > 1 ? groupSettings(model, facts.engines) : undefined
  const hash = told === undefined ? specHash(spec) : specHash(spec, told)
  return { spec, hash, profile, layout: 'problem' in layout ? { members: 1, cardsEach: cards } : layout }
}

/** `failures` has an entry for each replica to create. */
function newReplicas(
  model: Model,
  template: ReplicaTemplate,
  failures: readonly number[],
  replicas: readonly Replica[],
  facts: OperatorFacts,
): readonly NewPod[] {
  const { profile, layout, hash } = template
  const attempts = replicas.flatMap(({ attempts: count }) => count ?? [])
  return failures.flatMap((count, index) => {
    const about = { suffix: facts.suffix(index), failures: count }
    if (layout.members === 1)
      return [newModelPod(model, template, { ...about, engineKey: facts.engineKey, engines: facts.engines })]
    return newGroup(model, { ...about, layout, profile, hash, attempts: attempts[index] ?? 0 }, facts)
  })
}

function staying(members: readonly Pod[]): readonly Pod[] {
  return members.filter((pod) => !isPodTerminating(pod))
}

function checkAgainOf({ checkAgainMs }: Replica): number | undefined {
  return checkAgainMs
}

export function desiredReplicas({ spec }: Model): number {
  return Math.min(spec.maxReplicas, Math.max(spec.minReplicas, spec.replicas ?? spec.minReplicas))
}

export function hasEffects(plan: PodPlan): boolean {
  return [plan.create, plan.recall, plan.drain, plan.delete, plan.lift].some(({ length }) => length > 0)
}

export function onlyCreates({ create, recall, drain, delete: remove, lift }: PodPlan): boolean {
  return create.length > 0 && [recall, drain, remove, lift].every(({ length }) => length === 0)
}
