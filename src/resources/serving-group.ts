import type { Pod } from './pod.ts'

/** On every member of a serving group: the group's name. The Pods are called like it, followed by their rank. */
export const groupLabel = 'sluice.dev/serving-group'

/** On every member: its number, from 0. The one with 0 leads, and is the only one that gets requests. */
export const groupRankLabel = 'sluice.dev/group-rank'

/** On every member: how many there are. A group with fewer is never placed. */
export const groupSizeAnnotation = 'sluice.dev/group-size'

/** Keeps a member from being placed until there is room for all of its group. */
export const groupGate = 'sluice.dev/serving-group'

/** On a member that may be placed: since when (RFC 3339). */
export const placingAnnotation = 'sluice.dev/placing-since'

/** On a member of a group that follows one whose members were not all placed: how many such groups there were. */
export const placingAttemptsAnnotation = 'sluice.dev/placing-attempts'

export interface GroupMembership {
  readonly group: string
  readonly rank: number
  readonly size: number
}

/** The most members a group can have. */
export const mostMembers = 1_000
const count = /^(?:0|[1-9]\d{0,3})$/

/** Undefined for a Pod that is alone, or whose labels tell nothing that makes sense. */
export function membershipOf({ metadata: { labels, annotations } }: Pod): GroupMembership | undefined {
  const group = labels?.[groupLabel]
  const rankText = labels?.[groupRankLabel] ?? ''
  const sizeText = annotations?.[groupSizeAnnotation] ?? ''
  if (!group || !count.test(rankText) || !count.test(sizeText)) return undefined
  const [rank, size] = [Number(rankText), Number(sizeText)]
  return size <= mostMembers && rank < size ? { group, rank, size } : undefined
}

/** Whether something still keeps the Pod from being placed. */
export function isGated({ spec }: Pod): boolean {
  return (spec.schedulingGates?.length ?? 0) > 0
}

/** The name under which a Pod's requests are counted: for a member of a group, that of its leader. */
export function servingName(pod: Pod): string {
  const membership = membershipOf(pod)
  return membership ? memberName(membership.group, 0) : pod.metadata.name
}

export function memberName(group: string, rank: number): string {
  return `${group}-${rank}`
}
