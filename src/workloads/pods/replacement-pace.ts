import { RecentMap } from '../../cluster/pace/recent-map.ts'
import { type Pod, isPodFinished } from '../../resources/pod.ts'
import { finishedAt } from '../job/retry-delay.ts'

/**
 * A failing container is restarted by its node, less and less often; a Pod that fails as a whole (evicted, refused by
 * its node) is replaced by its owner. In Kubernetes, ReplicaSets and StatefulSets do so at once and for ever, which
 * fills a cluster with failed Pods as fast as it can; DaemonSets wait 1 s, doubled each time. Here all of them do that,
 * up to the five minutes that a node waits with a container.
 */
const firstMs = 1_000
const longestMs = 5 * 60_000
/** As long as a node remembers how often a container failed. */
const forgetMs = 2 * longestMs
const mostOwners = 4_096

interface Failures {
  readonly count: number
  readonly lastAt: number
}

/** How long owners wait before they replace failed Pods. Time is an argument. */
export class ReplacementPace {
  readonly #failures = new RecentMap<Failures>(mostOwners)

  /** To be told of every change of an owner's Pods. */
  observe(ownerUid: string, pod: Pod, previous: Pod | undefined, now: number): void {
    if (!isPodFinished(pod) || (previous && isPodFinished(previous))) return
    // A failed Pod that is first seen at a start ended when it says.
    const at = previous ? now : Math.min(now, finishedAt(pod))
    if (now - at >= forgetMs) return
    const known = this.#known(ownerUid, now)
    this.#failures.set(ownerUid, { count: (known?.count ?? 0) + 1, lastAt: Math.max(known?.lastAt ?? 0, at) })
  }

  /** All Pods that an owner wants may fail once, even together, and be replaced at once. */
  waitMs(ownerUid: string, wanted: number, now: number): number {
    const known = this.#known(ownerUid, now)
    if (!known) return 0
    const rounds = Math.floor((known.count - 1) / Math.max(1, wanted))
    if (rounds < 1) return 0
    const wait = Math.min(longestMs, firstMs * 2 ** Math.min(rounds - 1, 30))
    return Math.max(0, Math.min(wait, known.lastAt + wait - now))
  }

  #known(ownerUid: string, now: number): Failures | undefined {
    const known = this.#failures.get(ownerUid)
    return known && now - known.lastAt < forgetMs ? known : undefined
  }
}
