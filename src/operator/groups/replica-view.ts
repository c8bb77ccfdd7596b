import { modelHashLabel } from '../../resources/model-labels.ts'
import { type Pod, isPodFinished, isPodTerminating } from '../../resources/pod.ts'
import { isGated, membershipOf, placingAnnotation, placingAttemptsAnnotation } from '../../resources/serving-group.ts'
import type { OperatorFacts } from '../operator-facts.ts'
import { finishedAt, podTrouble } from '../pod-trouble.ts'

/** One replica of a Model: a Pod, or a group of Pods that live and die together. */
export interface Replica {
  /** What a plan sees of it: a group looks like one Pod, which is ready when all are, and failed when one is. */
  readonly view: Pod
  readonly members: readonly Pod[]
  /** Pods that go at once, because their group is no longer whole. */
  readonly remains: readonly Pod[]
  /** Pods that may be placed now, because there is room for all of their group. */
  readonly lift: readonly Pod[]
  /** Set if the group goes because not all of it was placed in time: how often that happened. */
  readonly attempts?: number | undefined
  /** When time alone would change this. */
  readonly checkAgainMs?: number | undefined
}

export type ReplicaFacts = Pick<OperatorFacts, 'now' | 'groupRoom'> & {
  /** How many Pods a replica that is created now has. */
  readonly wantedMembers: number | undefined
}

/** How long the members of a group may take to be placed, once there was room for all. */
const placingDeadlineMs = 30_000
const roomCheckMs = 1_000
const firstRetryMs = 10_000
const longestRetryMs = 5 * 60_000

/** The replicas that these Pods are. */
export function replicasIn(pods: readonly Pod[], facts: ReplicaFacts): readonly Replica[] {
  const [alone, grouped] = [pods.filter((pod) => !membershipOf(pod)), pods.filter(membershipOf)]
  const groups = Map.groupBy(grouped, (pod) => membershipOf(pod)?.group)
  const replicas = [...groups.values()].flatMap((group) => {
    const members = group.toSorted((one, other) => rankOf(one) - rankOf(other))
    return members[0] ? [groupReplica(members[0], members, facts)] : []
  })
  return [...alone.map((pod) => ({ view: pod, members: [pod], remains: [], lift: [] })), ...replicas]
}

function groupReplica(first: Pod, members: readonly Pod[], facts: ReplicaFacts): Replica {
  const staying = members.filter((pod) => !isPodTerminating(pod))
  const failed = staying.filter(isPodFinished).toSorted((one, other) => finishedAt(one) - finishedAt(other))[0]
  // It keeps the group's place until it is time for another one; what is left of the group holds no card meanwhile.
  if (failed) return { view: failed, members, remains: staying.filter((pod) => !isPodFinished(pod)), lift: [] }
  if (staying.length < members.length || !isWhole(members)) return leaving(first, members, facts)
  const isPlaced = members.every(({ spec }) => Boolean(spec.nodeName))
  return isPlaced ? { view: wholeView(first, members), members, remains: [], lift: [] } : placing(first, members, facts)
}

/** The members that there must be, each once. */
function isWhole(members: readonly Pod[]): boolean {
  const size = members[0] && membershipOf(members[0])?.size
  return members.length === size && members.every((pod, rank) => isMember(pod, rank, size))
}

function isMember(pod: Pod, rank: number, size: number): boolean {
  const membership = membershipOf(pod)
  return membership?.rank === rank && membership.size === size
}

/** To a plan it is a Pod that is on its way out, and does not count any more. */
function leaving(first: Pod, members: readonly Pod[], { now }: ReplicaFacts, attempts?: number): Replica {
  const since = members.find(isPodTerminating)?.metadata.deletionTimestamp ?? new Date(now).toISOString()
  return {
    view: { ...first, metadata: { ...first.metadata, deletionTimestamp: since } },
    members,
    remains: members.filter((pod) => !isPodTerminating(pod)),
    lift: [],
    attempts,
  }
}

function placing(first: Pod, members: readonly Pod[], facts: ReplicaFacts): Replica {
  const { now, groupRoom, wantedMembers } = facts
  const gated = members.filter(isGated)
  const leftMs =
    Math.min(...members.filter((pod) => !isGated(pod)).map((pod) => placingSince(pod))) + placingDeadlineMs - now
  const attempts = attemptsOf(first)
  if (leftMs <= 0) return leaving(first, members, facts, attempts + 1)
  const view = wholeView(first, members)
  if (gated.length === 0) return { view, members, remains: [], lift: [], checkAgainMs: leftMs }
  const waiting = { members, remains: [], lift: [], checkAgainMs: Math.min(leftMs, roomCheckMs) }
  // It holds nothing yet, and another number of Pods would fit the nodes that there are now.
  if (gated.length === members.length && wantedMembers !== undefined && wantedMembers !== members.length) {
    return { ...waiting, view: outdated(view) }
  }
  const retryMs = Math.min(retryAfterMs(attempts), createdAt(first) + retryAfterMs(attempts) - now)
  if (retryMs > 0) return { ...waiting, view: withoutRoom(view, notPlaced(attempts)) }
  const lack = groupRoom?.lack(members.filter(({ spec }) => !spec.nodeName))
  return lack === undefined ? { ...waiting, view, lift: gated } : { ...waiting, view: withoutRoom(view, lack) }
}

/** The leader, in the state of the member that is furthest from serving. */
function wholeView(leader: Pod, members: readonly Pod[]): Pod {
  const order = ['failing', 'waiting', 'starting'] as const
  const troubled = order.map((outlook) => members.find((pod) => podTrouble(pod)?.outlook === outlook))
  const telling = troubled.find((pod) => pod !== undefined)
  return telling && telling !== leader ? { ...leader, status: telling.status } : leader
}

function withoutRoom(view: Pod, message: string): Pod {
  const others = (view.status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled')
  const lacking = { type: 'PodScheduled', status: 'False' as const, reason: 'Unschedulable', message }
  return { ...view, status: { ...view.status, conditions: [...others, lacking] } }
}

function outdated(view: Pod): Pod {
  return { ...view, metadata: { ...view.metadata, labels: { ...view.metadata.labels, [modelHashLabel]: 'outdated' } } }
}

function notPlaced(attempts: number): string {
  const times = attempts === 1 ? 'once' : `${attempts} times`
  return `room for all Pods of the group was taken ${times} before they were placed; they are tried again in a while.`
}

function rankOf(pod: Pod): number {
  return membershipOf(pod)?.rank ?? 0
}

/** Since when it could be placed. */
function placingSince(pod: Pod): number {
  return timeOf(pod.metadata.annotations?.[placingAnnotation]) ?? createdAt(pod)
}

function createdAt({ metadata }: Pod): number {
  return timeOf(metadata.creationTimestamp) ?? 0
}

function timeOf(text: string | null | undefined): number | undefined {
  const time = Date.parse(text ?? '')
  return Number.isFinite(time) ? time : undefined
}

function attemptsOf({ metadata }: Pod): number {
  const attempts = Number(metadata.annotations?.[placingAttemptsAnnotation] ?? 0)
  return Number.isSafeInteger(attempts) && attempts > 0 ? attempts : 0
}

function retryAfterMs(attempts: number): number {
  return attempts === 0 ? 0 : Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(attempts - 1, 16))
}
