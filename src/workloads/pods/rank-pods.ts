import { type Pod, isPodReady } from '../../resources/pod.ts'
import { readySince } from './pod-availability.ts'

const deletionCost = 'controller.kubernetes.io/pod-deletion-cost'
const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 }

/**
 * Pods in the order in which surplus ones are deleted, as in Kubernetes: those that are not placed, not running, not
 * ready; the cheaper ones by their annotation; those with most neighbours of the same kind on their node; the younger
 * ones.
 */
export function rankForDeletion(pods: readonly Pod[], neighbours: readonly Pod[], now: number): readonly Pod[] {
  const onNode = new Map<string, number>()
  for (const { spec } of neighbours) {
    if (spec.nodeName) onNode.set(spec.nodeName, (onNode.get(spec.nodeName) ?? 0) + 1)
  }
  const facts = new Map(pods.map((pod) => [pod, rankOf(pod, onNode.get(pod.spec.nodeName ?? '') ?? 0, now)]))
  return pods.toSorted((left, right) => {
    const [a, b] = [facts.get(left) ?? [], facts.get(right) ?? []]
    const at = a.findIndex((value, index) => value !== b[index])
    return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
  })
}

/** Compared element by element; the smaller goes first. */
function rankOf(pod: Pod, neighbours: number, now: number): number[] {
  const placed = pod.spec.nodeName ? 1 : 0
  const phase = phaseRank[pod.status?.phase ?? 'Pending'] ?? 0
  const ready = isPodReady(pod) ? 1 : 0
  const cost = Number(pod.metadata.annotations?.[deletionCost] ?? 0) || 0
  const restarts = Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount))
  const created = Date.parse(pod.metadata.creationTimestamp ?? '') || now
  return [placed, phase, ready, cost, -neighbours, ageRank(readySince(pod), now), -restarts, ageRank(created, now)]
}

/** By orders of magnitude, so that among Pods of about the same age it is not always the newest that goes. */
function ageRank(since: number | undefined, now: number): number {
  if (since === undefined) return -1
  return Math.floor(Math.log2(Math.max(1, now - since)))
}
