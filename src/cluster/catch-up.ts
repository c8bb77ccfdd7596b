import { abortReason, type Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { type Kind, resourceNameOf } from '../resources/kind.ts'
import { type KubernetesObject, keyOf, refOf } from '../resources/kubernetes-object.ts'
import type { ObjectCache } from '../resources/object-cache.ts'
import type { ClusterClient, ListOptions } from './cluster-client.ts'
import { type BucketLimits, TokenBucket } from './pace/token-bucket.ts'

export interface CatchUpOptions<T extends KubernetesObject> {
  readonly client: Pick<ClusterClient, 'list'>
  readonly kind: Kind<T>
  readonly scope: ListOptions
  readonly cache: ObjectCache<T>
  readonly clock: Clock
  readonly log: Logger
  readonly limits?: Partial<CatchUpLimits>
}

export interface CatchUpLimits {
  /** How long one call takes at most. */
  readonly deadlineMs: number
  /** How often the cluster is asked, whoever asks for names that do not exist. */
  readonly pace: BucketLimits
}

const usualLimits: CatchUpLimits = { deadlineMs: 5_000, pace: { burst: 10, refillMs: 1_000 } }

/**
 * A cache hears of an object some milliseconds after whoever created it. This waits until it has heard of everything
 * that was there before the call, for those who must not say of a new object that it does not exist.
 */
export class CatchUp<T extends KubernetesObject> {
  readonly #options: CatchUpOptions<T>
  readonly #limits: CatchUpLimits
  readonly #pace: TokenBucket
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(options: CatchUpOptions<T>) {
    this.#options = options
    this.#limits = { ...usualLimits, ...options.limits }
    this.#pace = new TokenBucket(this.#limits.pace)
  }

  /** Resolves in any case: also if the cluster does not answer in time, or was asked too often lately. */
  now(): Promise<void> {
    if (!this.#running) return this.#begin()
    // The list that is under way may have been read before this call; all who come meanwhile share the next one.
    this.#next ??= this.#running.then(() => {
      this.#next = undefined
      return this.#begin()
    })
    return this.#next
  }

  async #begin(): Promise<void> {
    const { clock, kind, log } = this.#options
    if (!this.#pace.take(clock.now())) return
    const overdue = new AbortController()
    const cancel = clock.after(this.#limits.deadlineMs, () => overdue.abort(new Error('this takes too long')))
    this.#running = this.#look(overdue.signal)
      .catch((error: unknown) => log.debug({ err: error, resource: resourceNameOf(kind) }, 'a cache did not catch up'))
      .finally(() => {
        cancel()
        this.#running = undefined
      })
    await this.#running
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { client, kind, scope, cache } = this.#options
    const { items } = await client.list(kind, scope, signal)
    const behind = new Map<string, number>()
    for (const object of items) {
      const ref = refOf(object)
      const held = cache.get(ref)
      if (!held || generationOf(held) < generationOf(object)) behind.set(keyOf(ref), generationOf(object))
    }
    if (behind.size === 0) return
    const settled = Promise.withResolvers<void>()
    const unsubscribe = cache.onChange(({ type, object }) => {
      const key = keyOf(refOf(object))
      if (type === 'deleted' || generationOf(object) >= (behind.get(key) ?? 0)) behind.delete(key)
      if (behind.size === 0) settled.resolve()
    })
    const onAbort = () => settled.reject(abortReason(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      if (signal.aborted) throw abortReason(signal)
      await settled.promise
    } finally {
      unsubscribe()
      signal.removeEventListener('abort', onAbort)
    }
  }
}

function generationOf({ metadata }: KubernetesObject): number {
  return metadata.generation ?? 0
}
