import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectCache } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { LoopTurns } from '../../foundation/loop-turns.ts'
import type { Kind } from '../../resources/kind.ts'
import { type ObjectRef, refOf } from '../../resources/kubernetes-object.ts'
import type { Namespace } from '../../resources/namespace.ts'
import { isStatusError } from '../../resources/status-error.ts'

export interface NamespaceTerminationOptions {
  readonly client: ClusterClient
  /** Finalizes an emptied namespace, which not every cluster client can. */
  readonly finalizeNamespace: (name: string) => Promise<void>
  /** The kinds of objects that can be in a namespace; definitions come and go. */
  readonly kinds: () => readonly Kind[]
  readonly namespaces: ObjectCache<Namespace>
  readonly clock: Clock
  readonly log: Logger
}

/**
 * How often to check whether deleted objects are gone: soon at first, since Pods take their grace period, and less and
 * less often while nothing goes, because a finalizer that nobody removes holds a namespace for ever. Kubernetes waits
 * up to a minute.
 */
const recheck = { firstMs: 500, longestMs: 15_000 }

/** Empties namespaces that are being deleted, and then finalizes them. */
export class NamespaceTermination {
  readonly #options: NamespaceTerminationOptions
  readonly #queue: WorkQueue
  readonly #turns: LoopTurns
  /** How much was left of a namespace, and how often in a row it was the same. */
  readonly #stuck = new Map<string, { readonly left: number; readonly looks: number }>()

  constructor(options: NamespaceTerminationOptions) {
    this.#options = options
    this.#turns = new LoopTurns(options.clock)
    const { clock, log, namespaces } = options
    const reconcile = (ref: ObjectRef, signal: AbortSignal) => this.#reconcile(ref, signal)
    this.#queue = new WorkQueue({ name: 'namespaces', clock, log, concurrency: 2, reconcile })
    namespaces.onChange(({ type, object }) => {
      if (type === 'deleted') this.#stuck.delete(object.metadata.name)
      else if (object.metadata.deletionTimestamp !== undefined) this.#queue.add(refOf(object))
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  async #reconcile({ name }: ObjectRef, signal: AbortSignal): Promise<{ requeueAfterMs?: number }> {
    const namespace = this.#options.namespaces.get({ name })
    if (namespace?.metadata.deletionTimestamp === undefined) return {}
    let left = 0
    for (const kind of this.#options.kinds()) {
      if (kind.namespaced) left += await this.#empty(kind, name, signal)
    }
    if (left > 0) return { requeueAfterMs: this.#lookAgainMs(name, left) }
    this.#stuck.delete(name)
    try {
      await this.#options.finalizeNamespace(name)
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
    return {}
  }

  #lookAgainMs(name: string, left: number): number {
    const known = this.#stuck.get(name)
    const looks = known?.left === left ? known.looks + 1 : 0
    this.#stuck.set(name, { left, looks })
    return Math.min(recheck.longestMs, recheck.firstMs * 2 ** Math.min(looks, 10))
  }

  /** Deletes what is there; returns how much there was. */
  async #empty(kind: Kind, namespace: string, signal: AbortSignal): Promise<number> {
    const { items } = await this.#options.client.list(kind, { namespace }, signal)
    for (const object of items) {
      if (object.metadata.deletionTimestamp !== undefined) continue
      await this.#turns.next()
      try {
        await this.#options.client.delete(
          kind,
          refOf(object),
          { uid: object.metadata.uid, propagation: 'Background' },
          signal,
        )
      } catch (error) {
        if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
      }
    }
    return items.length
  }
}
