import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { LoopTurns } from '../../foundation/loop-turns.ts'
import { keyOf, refOf } from '../../resources/kubernetes-object.ts'
import { type Pod, isPodFinished, isPodTerminating, podKind } from '../../resources/pod.ts'
import { isStatusError } from '../../resources/status-error.ts'

export interface FinishedPodsOptions {
  readonly client: ClusterClient
  readonly pods: ObjectCache<Pod>
  /** How many finished Pods are kept for people to look at. */
  readonly limit: number
  readonly clock: Clock
  readonly log: Logger
}

/** Pods that finish together are handled together. */
const gatherMs = 1_000
const onlyKey = 'finished'

/** Which finished Pods go when there are more than `limit`: evicted ones, then the oldest. */
export function surplusFinishedPods(finished: readonly Pod[], limit: number): readonly Pod[] {
  const surplus = finished.length - limit
  if (surplus <= 0) return []
  const rank = ({ status }: Pod) => (status?.reason === 'Evicted' ? 0 : 1)
  const created = ({ metadata }: Pod) => metadata.creationTimestamp ?? ''
  return finished
    .toSorted((left, right) => rank(left) - rank(right) || created(left).localeCompare(created(right)))
    .slice(0, surplus)
}

/** Bounds the number of finished Pods: each takes a place in the store, and nobody else would delete them. */
export class FinishedPods {
  readonly #options: FinishedPodsOptions
  readonly #queue: WorkQueue<string>
  readonly #turns: LoopTurns
  readonly #finished = new Map<string, Pod>()

  constructor(options: FinishedPodsOptions) {
    this.#options = options
    this.#turns = new LoopTurns(options.clock)
    const { clock, log, pods, limit } = options
    this.#queue = new WorkQueue({
      name: 'finished-pods',
      clock,
      log,
      reconcile: (_key, signal) => this.#expire(signal),
    })
    pods.onChange(({ type, object }) => {
      const key = keyOf(refOf(object))
      if (type === 'deleted' || !isPodFinished(object) || isPodTerminating(object)) this.#finished.delete(key)
      else this.#finished.set(key, object)
      if (this.#finished.size > limit) this.#queue.addAfter(onlyKey, gatherMs)
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #expire(signal: AbortSignal): Promise<void> {
    const { client, limit, log } = this.#options
    const surplus = surplusFinishedPods([...this.#finished.values()], limit)
    for (const pod of surplus) {
      await this.#turns.next()
      try {
        await client.delete(podKind, refOf(pod), { uid: pod.metadata.uid, graceSeconds: 0 }, signal)
      } catch (error) {
        if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
      }
    }
    if (surplus.length > 0) log.info({ deleted: surplus.length, limit }, 'finished Pods beyond the limit were deleted')
  }
}
