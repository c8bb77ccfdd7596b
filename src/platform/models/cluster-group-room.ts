import type { ObjectCache } from '../../cluster/informer.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { GroupRoom } from '../../operator/groups/group-room.ts'
import { refOf } from '../../resources/kubernetes-object.ts'
import type { Node } from '../../resources/node.ts'
import { type Pod, isPodFinished, isPodTerminating } from '../../resources/pod.ts'
import { isGated } from '../../resources/serving-group.ts'
import { NodeLedger } from '../../workloads/scheduling/node-ledger.ts'
import { placeGroup } from '../../workloads/scheduling/place-group.ts'

export interface ClusterGroupRoomOptions {
  readonly pods: ObjectCache<Pod>
  readonly nodes: ObjectCache<Node>
  readonly clock: Clock
}

/** By then the cache shows Pods whose gates were lifted, or they could not be lifted. */
const longestReservationMs = 30_000

interface Reservation {
  readonly pod: Pod
  readonly until: number
}

/**
 * Whether a group finds room on the nodes of a cluster, whoever schedules there. Counts what Pods have, what others
 * wait for that will find it first, and what was promised to groups before the cache shows it.
 */
export class ClusterGroupRoom implements GroupRoom {
  readonly #options: ClusterGroupRoomOptions
  /** By uid. */
  readonly #reserved = new Map<string, Reservation>()

  constructor(options: ClusterGroupRoomOptions) {
    this.#options = options
  }

  lack(pods: readonly Pod[]): string | undefined {
    const placement = placeGroup(pods, this.#options.nodes.list(), this.#used(pods).totals)
    return 'unschedulable' in placement ? placement.unschedulable : undefined
  }

  reserve(pods: readonly Pod[]): boolean {
    if (this.lack(pods) !== undefined) return false
    const until = this.#options.clock.now() + longestReservationMs
    for (const pod of pods) this.#reserved.set(pod.metadata.uid ?? '', { pod, until })
    return true
  }

  /** What is taken on each node by everybody but these. */
  #used(asking: readonly Pod[]): NodeLedger {
    const ledger = new NodeLedger()
    const own = new Set(asking.map(({ metadata }) => metadata.uid))
    const others = this.#options.pods.list().filter(({ metadata }) => !own.has(metadata.uid))
    for (const pod of others) ledger.put(pod)
    const waiting = others.filter((pod) => isWaiting(pod) && hasSameCards(pod, asking))
    for (const pod of [...waiting, ...this.#promised(own)]) {
      const placement = placeGroup([pod], this.#options.nodes.list(), ledger.totals)
      if ('nodes' in placement) ledger.put(pod, placement.nodes[0])
    }
    return ledger
  }

  /** Pods that may be placed, though the cache does not show that yet. */
  #promised(own: ReadonlySet<string | undefined>): readonly Pod[] {
    const { pods, clock } = this.#options
    const now = clock.now()
    for (const [uid, { pod, until }] of this.#reserved) {
      const known = pods.get(refOf(pod))
      const isGone = known?.metadata.uid !== uid
      if (isGone || !isGated(known) || now >= until || until - now > longestReservationMs) this.#reserved.delete(uid)
    }
    return [...this.#reserved.values()].map(({ pod }) => pod).filter(({ metadata }) => !own.has(metadata.uid))
  }
}

function isWaiting(pod: Pod): boolean {
  return !pod.spec.nodeName && !isGated(pod) && !isPodFinished(pod) && !isPodTerminating(pod)
}

/** Whoever wants none of the cards takes none of the room that matters. */
function hasSameCards(pod: Pod, asking: readonly Pod[]): boolean {
  const wanted = new Set(asking.flatMap(limitsOf))
  return limitsOf(pod).some((name) => wanted.has(name))
}

function limitsOf({ spec }: Pod): readonly string[] {
  const names = spec.containers.flatMap(({ resources }) => Object.keys(resources?.limits ?? {}))
  return names.filter((name) => name.includes('/'))
}
