import { type Clock, abortReason } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { LoopTurns } from '../foundation/loop-turns.ts'
import { type Kind, resourceNameOf } from '../resources/kind.ts'
import { type KubernetesObject, type ObjectRef, keyOf, refOf } from '../resources/kubernetes-object.ts'
import { HeldObjects, type ObjectCache, type ObjectChange } from '../resources/object-cache.ts'
import { StatusError, isStatusError } from '../resources/status-error.ts'
import { backoffMs } from './pace/backoff.ts'
import type { ClusterClient, ListOptions } from './cluster-client.ts'
import { TokenBucket } from './pace/token-bucket.ts'

export type { ObjectCache, ObjectChange }

export interface InformerOptions<T extends KubernetesObject> {
  readonly client: ClusterClient
  readonly kind: Kind<T>
  readonly scope?: ListOptions
  readonly clock: Clock
  readonly log: Logger
  readonly random?: () => number
}

/**
 * Like client-go's reflector, which waits from 800 ms to 30 s, but sooner at first, because a start may be waiting for
 * the first list.
 */
const retryLimits = { firstMs: 100, longestMs: 30_000 }
/** However long a server asks for. */
const longestAskedPauseMs = 60_000
/**
 * A watch that was closed after it brought something is resumed at once, but not any number of times: some proxies
 * close every watch.
 */
const resumeLimits = { burst: 10, refillMs: 1_000 }
/** A first list may have thousands of objects, and a watch that was behind as many changes. */
const perTurn = { items: 500, ms: 5 }
/** A watch that lived this long was healthy: its end does not count as a failure. */
const healthyWatchMs = 10_000

/** A copy of the objects of one kind, kept current by list and watch. */
export class Informer<T extends KubernetesObject> implements ObjectCache<T> {
  readonly #options: InformerOptions<T>
  readonly #log: Logger
  readonly #held: HeldObjects<T>
  readonly #synced = Promise.withResolvers<void>()
  readonly #turns: LoopTurns
  /** Where the watch resumes; undefined when a new list is needed. */
  #version: string | undefined

  constructor(options: InformerOptions<T>) {
    this.#options = options
    this.#turns = new LoopTurns(options.clock, perTurn)
    this.#log = options.log.child({ resource: resourceNameOf(options.kind) })
    this.#held = new HeldObjects((error, { type }) => this.#log.error({ err: error, type }, 'a listener failed'))
  }

  get synced(): boolean {
    return this.#held.synced
  }

  get(ref: ObjectRef): T | undefined {
    return this.#held.get(ref)
  }

  list(): readonly T[] {
    return this.#held.list()
  }

  onChange(listener: (change: ObjectChange<T>) => void): () => void {
    return this.#held.onChange(listener)
  }

  /** Resolves when the first list is in the cache; rejects when the signal is aborted first. */
  async whenSynced(signal?: AbortSignal): Promise<void> {
    if (this.synced || !signal) return this.#synced.promise
    if (signal.aborted) throw abortReason(signal)
    const aborted = Promise.withResolvers<never>()
    const onAbort = () => aborted.reject(abortReason(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await Promise.race([this.#synced.promise, aborted.promise])
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Lists and watches until the signal is aborted. Whatever fails is tried again. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random = Math.random } = this.#options
    let failures = 0
    const resumes = new TokenBucket(resumeLimits)
    while (!signal.aborted) {
      const startedAt = clock.now()
      let progressed = false
      let askedPauseMs = 0
      try {
        this.#version ??= await this.#relist(signal)
        progressed = await this.#follow(this.#version, signal)
      } catch (error) {
        if (signal.aborted) break
        // A refusal means that the server cannot go on from that version. A broken connection says nothing about it;
        // and a server that is busy would be busier with a list.
        const isBusy = isStatusError(error, 'TooManyRequests')
        if (error instanceof StatusError && !isBusy) this.#version = undefined
        if (isBusy) askedPauseMs = (error.details.retryAfterSeconds ?? 0) * 1000
        const expected = isStatusError(error, 'Expired', 'Gone')
        this.#log[expected ? 'debug' : 'warn']({ err: error, failures }, 'list or watch failed; trying again')
      }
      const now = clock.now()
      const healthy = now - startedAt >= healthyWatchMs || (progressed && resumes.take(now))
      failures = healthy ? 0 : failures + 1
      const pauseMs = failures > 0 ? backoffMs(failures, random(), retryLimits) : 0
      if (Math.max(pauseMs, askedPauseMs) > 0) {
        await clock.sleep(Math.max(pauseMs, Math.min(askedPauseMs, longestAskedPauseMs)), signal).catch(() => {})
      }
    }
  }

  async #relist(signal: AbortSignal): Promise<string> {
    const { client, kind, scope } = this.#options
    const { items, resourceVersion } = await client.list(kind, scope, signal)
    const listed = new Set<string>()
    for (const object of items) {
      const turn = this.#turns.next()
      if (turn) await turn
      listed.add(keyOf(refOf(object)))
      this.#put(object)
    }
    for (const object of this.#held.list()) {
      const ref = refOf(object)
      if (!listed.has(keyOf(ref))) this.#held.remove(ref)
    }
    if (!this.#held.synced) {
      this.#held.synced = true
      this.#synced.resolve()
    }
    return resourceVersion
  }

  /** True when the watch brought something before it was closed. */
  async #follow(resourceVersion: string, signal: AbortSignal): Promise<boolean> {
    const { client, kind, scope } = this.#options
    let progressed = false
    for await (const event of client.watch(kind, { ...scope, resourceVersion }, signal)) {
      if (signal.aborted) break
      const turn = this.#turns.next()
      if (turn) await turn
      progressed = true
      if (event.type === 'BOOKMARK') {
        this.#version = event.resourceVersion
        continue
      }
      this.#version = event.object.metadata.resourceVersion ?? this.#version
      if (event.type === 'DELETED') this.#held.remove(refOf(event.object), event.object)
      else this.#put(event.object)
    }
    return progressed
  }

  #put(object: T): void {
    const ref = refOf(object)
    const previous = this.#held.get(ref)
    if (previous?.metadata.resourceVersion !== undefined && sameVersion(previous, object)) return
    // The name was given to another object between two lists: listeners must hear of the end of the first one.
    if (previous && previous.metadata.uid !== object.metadata.uid) this.#held.remove(ref)
    this.#held.put(object)
  }
}

function sameVersion(left: KubernetesObject, right: KubernetesObject): boolean {
  return left.metadata.resourceVersion === right.metadata.resourceVersion && left.metadata.uid === right.metadata.uid
}
