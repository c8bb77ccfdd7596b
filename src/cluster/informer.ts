import { type Clock, abortReason } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { LoopTurns } from '../foundation/loop-turns.ts'
import { type Kind, resourceNameOf } from '../resources/kind.ts'
import { type KubernetesObject, type ObjectRef, keyOf, refOf } from '../resources/kubernetes-object.ts'
import { StatusError, isStatusError } from '../resources/status-error.ts'
import { backoffMs } from './pace/backoff.ts'
import type { ClusterClient, ListOptions } from './cluster-client.ts'
import { TokenBucket } from './pace/token-bucket.ts'

export interface ObjectChange<T> {
  readonly type: 'added' | 'updated' | 'deleted'
  readonly object: T
  readonly previous?: T | undefined
}

/** What a consumer needs of an informer. Objects are shared: never change them in place. */
export interface ObjectCache<T> {
  get(ref: ObjectRef): T | undefined
  list(): readonly T[]
  readonly synced: boolean
  /** Tells of changes from now on, after the cache has them; returns how to stop listening. */
  onChange(listener: (change: ObjectChange<T>) => void): () => void
}

export interface InformerOptions<T extends KubernetesObject> {
  readonly client: ClusterClient
  readonly kind: Kind<T>
  readonly scope?: ListOptions
  readonly clock: Clock
  readonly log: Logger
  readonly random?: () => number
}

/** As client-go's reflector, which begins at 800 ms and ends at 30 s; sooner at first, because a first list may be what a start waits for. */
const retryLimits = { firstMs: 100, longestMs: 30_000 }
/** A watch that is closed after it brought something is resumed at once, but not for ever: some proxies close every one. */
const resumeLimits = { burst: 10, refillMs: 1_000 }
/** A first list may have thousands of objects, and a watch that was behind as many changes. */
const perTurn = { items: 500, ms: 5 }
/** A watch that lived this long was healthy: its end says nothing against the server. */
const healthyWatchMs = 10_000

/** A copy of the objects of one kind, kept current by list and watch. */
export class Informer<T extends KubernetesObject> implements ObjectCache<T> {
  readonly #options: InformerOptions<T>
  readonly #log: Logger
  readonly #objects = new Map<string, T>()
  readonly #listeners = new Set<(change: ObjectChange<T>) => void>()
  readonly #synced = Promise.withResolvers<void>()
  readonly #turns: LoopTurns
  #isSynced = false
  /** Where the watch resumes; undefined when only a new list can tell what is there. */
  #version: string | undefined

  constructor(options: InformerOptions<T>) {
    this.#options = options
    this.#turns = new LoopTurns(options.clock, perTurn)
    this.#log = options.log.child({ resource: resourceNameOf(options.kind) })
  }

  get synced(): boolean {
    return this.#isSynced
  }

  get(ref: ObjectRef): T | undefined {
    return this.#objects.get(keyOf(ref))
  }

  list(): readonly T[] {
    return [...this.#objects.values()]
  }

  onChange(listener: (change: ObjectChange<T>) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves when the first list is in the cache; rejects when the signal is aborted first. */
  async whenSynced(signal?: AbortSignal): Promise<void> {
    if (this.#isSynced || !signal) return this.#synced.promise
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
      try {
        this.#version ??= await this.#relist(signal)
        progressed = await this.#follow(this.#version, signal)
      } catch (error) {
        if (signal.aborted) break
        // A refusal by the server says that it cannot go on from there; a broken connection says nothing about the version.
        if (error instanceof StatusError) this.#version = undefined
        const expected = isStatusError(error, 'Expired', 'Gone')
        this.#log[expected ? 'debug' : 'warn']({ err: error, failures }, 'list or watch failed; trying again')
      }
      const now = clock.now()
      const healthy = now - startedAt >= healthyWatchMs || (progressed && resumes.take(now))
      failures = healthy ? 0 : failures + 1
      if (failures > 0) await clock.sleep(backoffMs(failures, random(), retryLimits), signal).catch(() => {})
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
    for (const [key, object] of this.#objects) {
      if (!listed.has(key)) this.#remove(key, object)
    }
    if (!this.#isSynced) {
      this.#isSynced = true
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
      if (event.type === 'DELETED') this.#remove(keyOf(refOf(event.object)), event.object)
      else this.#put(event.object)
    }
    return progressed
  }

  #put(object: T): void {
    const key = keyOf(refOf(object))
    const previous = this.#objects.get(key)
    if (previous?.metadata.resourceVersion !== undefined && sameVersion(previous, object)) return
    const replaced = previous && previous.metadata.uid !== object.metadata.uid
    // The name was given to another object between two lists: those who count on the first one's end must hear of it.
    if (replaced) this.#remove(key, previous)
    this.#objects.set(key, object)
    this.#tell(previous && !replaced ? { type: 'updated', object, previous } : { type: 'added', object })
  }

  #remove(key: string, object: T): void {
    const previous = this.#objects.get(key)
    if (!this.#objects.delete(key)) return
    this.#tell({ type: 'deleted', object, previous })
  }

  #tell(change: ObjectChange<T>): void {
    for (const listener of this.#listeners) {
      try {
        listener(change)
      } catch (error) {
        this.#log.error({ err: error, type: change.type }, 'a listener failed')
      }
    }
  }
}

function sameVersion(left: KubernetesObject, right: KubernetesObject): boolean {
  return left.metadata.resourceVersion === right.metadata.resourceVersion && left.metadata.uid === right.metadata.uid
}
