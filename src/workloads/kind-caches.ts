import type { ClusterClient } from '../cluster/cluster-client.ts'
import { Informer, type ObjectCache } from '../cluster/informer.ts'
import type { Clock } from '../foundation/clock.ts'
import { linkSignals } from '../foundation/linked-signal.ts'
import type { Logger } from '../foundation/log.ts'
import { type Kind, resourceNameOf } from '../resources/kind.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'

export interface WatchedKind {
  readonly kind: Kind
  readonly cache: ObjectCache<KubernetesObject>
}

/** The kinds that are watched now; definitions come and go. */
export interface WatchedKinds {
  list(): readonly WatchedKind[]
  /** By `plural` or `plural.group`. */
  find(resource: string): WatchedKind | undefined
  onChange(listener: (type: 'added' | 'removed', entry: WatchedKind) => void): void
}

export interface KindCachesOptions {
  readonly client: ClusterClient
  readonly clock: Clock
  readonly log: Logger
}

interface Entry extends WatchedKind {
  readonly informer: { run(signal: AbortSignal): Promise<void>; whenSynced(signal: AbortSignal): Promise<void> }
  readonly stopping: AbortController
  /** Somebody holds the cache, so it is watched whatever is served. */
  readonly fixed: boolean
}

/** One informer for each kind, shared by everybody who needs it. */
export class KindCaches implements WatchedKinds {
  readonly #options: KindCachesOptions
  readonly #entries = new Map<string, Entry>()
  readonly #listeners: Array<(type: 'added' | 'removed', entry: WatchedKind) => void> = []
  readonly #running = new Set<Promise<void>>()
  #signal: AbortSignal | undefined

  constructor(options: KindCachesOptions) {
    this.#options = options
  }

  list(): readonly WatchedKind[] {
    return [...this.#entries.values()]
  }

  find(resource: string): WatchedKind | undefined {
    return this.#entries.get(resource)
  }

  has(kind: Kind): boolean {
    return this.#entries.has(resourceNameOf(kind))
  }

  /** Called before the objects of a new kind come, and after a kind is no longer watched. */
  onChange(listener: (type: 'added' | 'removed', entry: WatchedKind) => void): void {
    this.#listeners.push(listener)
  }

  watch<T extends KubernetesObject>(kind: Kind<T>, fixed = true): Informer<T> {
    if (this.has(kind)) throw new Error(`${resourceNameOf(kind)} are watched already: hand their cache on`)
    const informer = new Informer({ ...this.#options, kind })
    const entry = { kind, cache: informer, informer, stopping: new AbortController(), fixed }
    this.#entries.set(resourceNameOf(kind), entry)
    for (const listener of this.#listeners) listener('added', entry)
    if (this.#signal) this.#run(entry, this.#signal)
    return informer
  }

  /** Also watches these kinds from now on, instead of those of the previous call. */
  follow(kinds: readonly Kind[]): void {
    const wanted = new Set(kinds.map((kind) => resourceNameOf(kind)))
    for (const kind of kinds) if (!this.has(kind)) this.watch(kind, false)
    for (const [resource, entry] of this.#entries) {
      if (entry.fixed || wanted.has(resource)) continue
      this.#entries.delete(resource)
      entry.stopping.abort(new Error(`${resource} are not served any more`))
      for (const listener of this.#listeners) listener('removed', entry)
    }
  }

  /** Resolves when the caches of all kinds watched so far are filled. */
  async start(starting: AbortSignal, stopping: AbortSignal): Promise<void> {
    this.#signal = stopping
    const entries = [...this.#entries.values()]
    for (const entry of entries) this.#run(entry, stopping)
    const either = linkSignals(starting, stopping)
    try {
      await Promise.all(entries.map(({ informer }) => informer.whenSynced(either.signal)))
    } finally {
      either.release()
    }
  }

  /** Resolves when nothing is watched any more, after the stopping signal. */
  async stopped(): Promise<void> {
    await Promise.all(this.#running)
  }

  #run(entry: Entry, stopping: AbortSignal): void {
    const either = linkSignals(stopping, entry.stopping.signal)
    const running: Promise<void> = entry.informer.run(either.signal).then(() => {
      either.release()
      this.#running.delete(running)
    })
    this.#running.add(running)
  }
}
