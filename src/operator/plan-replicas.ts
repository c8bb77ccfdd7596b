import { drainingAnnotation, modelHashLabel } from '../resources/model-labels.ts'
import { type Pod, isPodFinished, isPodReady, isPodTerminating } from '../resources/pod.ts'
import type { OperatorFacts } from './operator-facts.ts'
import { failuresOf, finishedAt, unschedulableMessage } from './pod-trouble.ts'

export interface ReplicaPlan {
  /** For each Pod to create, how many failed before it. */
  readonly create: readonly number[]
  readonly recall: readonly Pod[]
  readonly drain: readonly Pod[]
  readonly delete: readonly Pod[]
  /** When time alone would change the plan. */
  readonly checkAgainMs: number | undefined
}

export interface ReplicaInput {
  readonly desired: number
  readonly pods: readonly Pod[]
  /** The hash of the Pods this Model wants now; undefined while it is unknown, and then no Pod is out of date. */
  readonly hash: string | undefined
  /** An obstacle keeps new Pods from starting. */
  readonly blocked: boolean
  readonly facts: Pick<OperatorFacts, 'now' | 'busy' | 'drainingMs' | 'drainDeadlineMs'>
}

/** After this long, everybody who routes requests knows that a Pod is draining, so an idle one stays idle. */
const drainSettleMs = 1_000
const drainCheckMs = 500
const firstReplaceMs = 10_000
const longestReplaceMs = 5 * 60_000

/** Which Pods stay, go, come back or are created. New Pods are ready before those they replace go. */
export function planReplicas({ desired, pods, hash, blocked, facts }: ReplicaInput): ReplicaPlan {
  const isStale = (pod: Pod) => hash !== undefined && pod.metadata.labels?.[modelHashLabel] !== hash
  const staying = pods.filter((pod) => !isPodTerminating(pod))
  const finished = splitFinished(staying.filter(isPodFinished), desired, isStale, facts.now)
  const live = staying.filter((pod) => !isPodFinished(pod))
  const draining = live.filter(isDraining)
  const serving = live.filter((pod) => !isDraining(pod)).sort(firstToGo(facts))
  const fresh = serving.filter((pod) => !isStale(pod))
  const stale = serving.filter(isStale)

  const freshGoing = fresh.slice(0, Math.max(0, fresh.length - desired))
  const freshKept = fresh.slice(freshGoing.length)
  const leaving = pods.some((pod) => isStale(pod) && (isPodTerminating(pod) || isDraining(pod)))
  const staleGoing = stale.slice(0, countStaleGoing(stale, freshKept, desired, leaving || blocked, facts))
  const staleKept = stale.slice(staleGoing.length)

  const count = freshKept.length + staleKept.length + finished.waiting.length
  // An outdated Pod returns only if there is no new one that it may have made room for.
  const returning = draining.filter((pod) => !isStale(pod) || fresh.length === 0).sort(firstToReturn(isStale))
  const recall = returning.slice(0, Math.max(0, desired - count))
  const missing = Math.max(0, desired - count - recall.length)
  // One by one: the next new Pod is created when the last outdated one has released its card.
  const settled = !leaving && staleGoing.length === 0 && freshKept.every(isPodReady)
  const rolling = staleKept.length > 0 && freshKept.length < desired && settled
  const creations = blocked ? 0 : missing > 0 ? missing : rolling && recall.length === 0 ? 1 : 0

  const left = draining.filter((pod) => !recall.includes(pod))
  const drained = left.filter((pod) => isDrained(pod, facts))
  const going = [...freshGoing, ...staleGoing]
  const idleGoing = going.filter((pod) => isIdleAndUnready(pod, facts))
  const drain = going.filter((pod) => !idleGoing.includes(pod))

  return {
    create: Array.from({ length: creations }, (_, index) => finished.failures[index] ?? 0),
    recall,
    drain,
    delete: [...finished.over, ...drained, ...idleGoing],
    checkAgainMs: soonest([
      drain.length > 0 || left.length > drained.length ? drainCheckMs : undefined,
      ...finished.waiting.map((pod) => replaceAt(pod) - facts.now),
    ]),
  }
}

function countStaleGoing(
  stale: readonly Pod[],
  freshKept: readonly Pod[],
  desired: number,
  waiting: boolean,
  facts: ReplicaInput['facts'],
): number {
  const replaced = stale.length - Math.max(0, desired - freshKept.filter(isPodReady).length)
  if (waiting) return Math.max(0, replaced)
  // An outdated Pod that serves nobody is not worth keeping; such Pods come first.
  const useless = stale.filter((pod) => isIdleAndUnready(pod, facts)).length
  // A new Pod that found no room replaces an outdated one before it is ready, or it would wait for ever.
  const madeRoom = stale.length > 0 && freshKept.some((pod) => unschedulableMessage(pod) !== undefined) ? 1 : 0
  return Math.max(0, replaced, useless, madeRoom)
}

export function isDraining(pod: Pod): boolean {
  return pod.metadata.annotations?.[drainingAnnotation] !== undefined
}

function isIdleAndUnready(pod: Pod, { busy }: Pick<OperatorFacts, 'busy'>): boolean {
  return !isPodReady(pod) && !busy(pod.metadata.name)
}

function isDrained(pod: Pod, { busy, drainingMs, drainDeadlineMs }: ReplicaInput['facts']): boolean {
  const elapsedMs = drainingMs(pod)
  const requests = busy(pod.metadata.name)
  if (elapsedMs >= drainDeadlineMs) return true
  if (requests === 0) return elapsedMs >= drainSettleMs
  return requests === undefined && !isPodReady(pod)
}

interface FinishedPods {
  /** They keep their places until it is time to replace them. */
  readonly waiting: readonly Pod[]
  readonly over: readonly Pod[]
  /** For each failed Pod that is to be replaced, how many failed before. */
  readonly failures: readonly number[]
}

function splitFinished(
  finished: readonly Pod[],
  desired: number,
  isStale: (pod: Pod) => boolean,
  now: number,
): FinishedPods {
  const waiting = finished.filter((pod) => !isStale(pod) && replaceAt(pod) > now).slice(0, desired)
  const over = finished.filter((pod) => !waiting.includes(pod))
  return { waiting, over, failures: over.filter((pod) => !isStale(pod)).map((pod) => failuresOf(pod) + 1) }
}

function replaceAt(pod: Pod): number {
  return finishedAt(pod) + Math.min(longestReplaceMs, firstReplaceMs * 2 ** Math.min(failuresOf(pod), 16))
}

/** Pods that cannot serve go first, then those that serve least, then the youngest. */
function firstToGo({ busy }: Pick<OperatorFacts, 'busy'>): (left: Pod, right: Pod) => number {
  return (left, right) =>
    Number(isPodReady(left)) - Number(isPodReady(right)) ||
    (busy(left.metadata.name) ?? 0) - (busy(right.metadata.name) ?? 0) ||
    ageOrder(right, left)
}

/** Up-to-date Pods return first, then those that can serve at once, then those that left last. */
function firstToReturn(isStale: (pod: Pod) => boolean): (left: Pod, right: Pod) => number {
  return (left, right) =>
    Number(isStale(left)) - Number(isStale(right)) ||
    Number(isPodReady(right)) - Number(isPodReady(left)) ||
    compare(right.metadata.annotations?.[drainingAnnotation], left.metadata.annotations?.[drainingAnnotation]) ||
    ageOrder(left, right)
}

function ageOrder(left: Pod, right: Pod): number {
  return (
    compare(left.metadata.creationTimestamp, right.metadata.creationTimestamp) ||
    compare(left.metadata.name, right.metadata.name)
  )
}

function compare(left: string | null | undefined, right: string | null | undefined): number {
  const [first, second] = [left ?? '', right ?? '']
  return first < second ? -1 : first > second ? 1 : 0
}

export function soonest(delays: ReadonlyArray<number | undefined>): number | undefined {
  const known = delays.filter((delay) => delay !== undefined)
  return known.length > 0 ? Math.max(0, Math.min(...known)) : undefined
}
