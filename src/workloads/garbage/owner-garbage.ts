import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { ObjectChange } from '../../cluster/informer.ts'
import { WorkQueue } from '../../cluster/work-queue.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { LoopTurns } from '../../foundation/loop-turns.ts'
import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import { type KubernetesObject, refOf } from '../../resources/kubernetes-object.ts'
import { isStatusError } from '../../resources/status-error.ts'
import type { WatchedKind, WatchedKinds } from '../kind-caches.ts'
import { OwnerGraph } from './owner-graph.ts'
import { OwnerStates, fateOf, foregroundFinalizer, isOrphaning, isWaiting, orphanFinalizer } from './owner-states.ts'
import { ignoreGoneOrChanged } from '../ignore-gone.ts'

export interface OwnerGarbageOptions {
  readonly client: ClusterClient
  readonly watched: WatchedKinds
  readonly clock: Clock
  readonly log: Logger
}

interface Found {
  readonly kind: Kind
  readonly object: KubernetesObject
}

/** Deletes objects that lost their owners, and carries out foreground and orphaning deletions. */
export class OwnerGarbage {
  readonly #options: OwnerGarbageOptions
  readonly #queue: WorkQueue<string>
  readonly #states: OwnerStates
  readonly #turns: LoopTurns
  /** Keys are `resource|namespace|name`. */
  readonly #graph = new OwnerGraph()
  /** Keys of waiting owners that were not checked yet for waiting for themselves. */
  readonly #maybeCircles = new Set<string>()
  /** Dependents of owners whose kind is not known; looked at again when there are more kinds. */
  readonly #puzzling = new Set<string>()

  constructor(options: OwnerGarbageOptions) {
    this.#options = options
    this.#turns = new LoopTurns(options.clock)
    const { client, clock, log, watched } = options
    const reconcile = (key: string, signal: AbortSignal) => this.#reconcile(key, signal)
    this.#queue = new WorkQueue({ name: 'owner-garbage', clock, log, concurrency: 4, reconcile })
    this.#states = new OwnerStates(client, watched)
    for (const entry of watched.list()) this.#listen(entry)
    watched.onChange((type, entry) => {
      if (type === 'added') this.#listen(entry)
      else for (const object of entry.cache.list()) this.#observe(entry.kind, { type: 'deleted', object })
    })
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  #listen({ kind, cache }: WatchedKind): void {
    cache.onChange((change) => this.#observe(kind, change))
    for (const key of this.#puzzling) this.#queue.add(key)
    this.#puzzling.clear()
  }

  #observe(kind: Kind, { type, object, previous }: ObjectChange<KubernetesObject>): void {
    const key = keyFor(kind, object)
    const { uid = '', ownerReferences: owners = [] } = object.metadata
    if (type === 'deleted') {
      this.#graph.remove(key, object, previous)
      this.#states.sawGone(uid)
      this.#puzzling.delete(key)
      this.#maybeCircles.delete(key)
      this.#addDependents(uid)
    } else {
      this.#graph.put(key, object, previous)
      const waits = this.#graph.waitingKey(uid) !== undefined
      if (waits) this.#maybeCircles.add(key)
      if (owners.length > 0 || waits) this.#queue.add(key)
      if (waits && !(previous && (isWaiting(previous) || isOrphaning(previous)))) this.#addDependents(uid)
    }
    // A waiting owner may have waited for this object alone.
    for (const owner of [...owners, ...(previous?.metadata.ownerReferences ?? [])]) {
      const waiting = this.#graph.waitingKey(owner.uid)
      if (waiting !== undefined && !this.#graph.isBlocked(owner.uid)) this.#queue.add(waiting)
    }
  }

  /** Each dependent is decided, and retried, by itself. */
  #addDependents(uid: string): void {
    for (const dependent of this.#graph.dependentsOf(uid)) this.#queue.add(dependent)
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const found = this.#lookup(key)
    if (!found) return
    const { kind, object } = found
    if (isOrphaning(object)) return this.#orphan(kind, object, signal)
    if (isWaiting(object)) await this.#finish(key, kind, object, signal)
    else if (object.metadata.deletionTimestamp === undefined) await this.#judge(key, kind, object, signal)
  }

  /** Acts on the state of the object's owners: the object stays, loses references to them, or is deleted. */
  async #judge(key: string, kind: Kind, object: KubernetesObject, signal: AbortSignal): Promise<void> {
    const { uid = '', resourceVersion, ownerReferences = [], finalizers = [] } = object.metadata
    if (ownerReferences.length === 0) return
    const states = await Promise.all(ownerReferences.map((owner) => this.#states.of(owner, object, signal)))
    if (states.includes('unknown')) this.#puzzling.add(key)
    switch (fateOf(states)) {
      case 'stays':
        return
      case 'loses-references': {
        const kept = ownerReferences.filter((_owner, index) => ['present', 'unknown'].includes(states[index] ?? ''))
        await this.#patch(kind, object, { uid, resourceVersion, ownerReferences: kept }, signal)
        return
      }
      default: {
        // An object that its owner waits for takes its own dependents along first.
        const inForeground = states.includes('waiting') && this.#graph.dependentsOf(uid).size > 0
        const propagation =
          inForeground || finalizers.includes(foregroundFinalizer)
            ? 'Foreground'
            : finalizers.includes(orphanFinalizer)
              ? 'Orphan'
              : 'Background'
        // Somebody may have given it another owner meanwhile: then it is looked at again.
        const asJudged = { uid, resourceVersion, propagation } as const
        await this.#options.client.delete(kind, refOf(object), asJudged, signal).catch(ignoreGoneOrChanged)
      }
    }
  }

  /** The object waits until its blocking dependents are gone. */
  async #finish(key: string, kind: Kind, object: KubernetesObject, signal: AbortSignal): Promise<void> {
    const { uid = '', resourceVersion, finalizers = [] } = object.metadata
    // What is written comes back here through the cache.
    if (this.#maybeCircles.has(key) && (await this.#openCircle(kind, object, signal))) return
    this.#maybeCircles.delete(key)
    if (this.#graph.isBlocked(uid)) return
    // The cache may be behind: only what the cluster itself says counts.
    const there = await this.#dependentsOf(uid, object.metadata.namespace, signal)
    if (there.some((dependent) => blocks(dependent.object, uid))) return
    const rest = finalizers.filter((name) => name !== foregroundFinalizer)
    await this.#patch(kind, object, { uid, resourceVersion, finalizers: rest }, signal)
  }

  /** Owners that wait for each other would do so for ever: the one that closes the circle releases its own first. */
  async #openCircle(kind: Kind, object: KubernetesObject, signal: AbortSignal): Promise<boolean> {
    const inCircle = this.#graph.ownersInCircle(object)
    if (inCircle.size === 0) return false
    const { uid, resourceVersion, ownerReferences = [] } = object.metadata
    const opened = ownerReferences.map((owner) =>
      inCircle.has(owner.uid) ? { ...owner, blockOwnerDeletion: false } : owner,
    )
    await this.#patch(kind, object, { uid, resourceVersion, ownerReferences: opened }, signal)
    return true
  }

  /** The object goes as soon as nobody names it as an owner any more. */
  async #orphan(kind: Kind, object: KubernetesObject, signal: AbortSignal): Promise<void> {
    const { uid: owner = '', resourceVersion: version, finalizers = [] } = object.metadata
    for (const dependent of await this.#dependentsOf(owner, object.metadata.namespace, signal)) {
      await this.#turns.next()
      const { uid, resourceVersion, ownerReferences = [] } = dependent.object.metadata
      const kept = ownerReferences.filter((reference) => reference.uid !== owner)
      await this.#options.client.patch(
        dependent.kind,
        refOf(dependent.object),
        { metadata: { uid, resourceVersion, ownerReferences: kept } },
        signal,
      )
    }
    const rest = finalizers.filter((name) => name !== orphanFinalizer)
    await this.#patch(kind, object, { uid: owner, resourceVersion: version, finalizers: rest }, signal)
  }

  /** Read from the cluster: a dependent that is not in the cache yet would be deleted instead of released. */
  async #dependentsOf(ownerUid: string, namespace: string | undefined, signal: AbortSignal): Promise<Found[]> {
    const found: Found[] = []
    for (const { kind } of this.#options.watched.list()) {
      // What a namespaced object owns is in the same namespace.
      if (namespace !== undefined && !kind.namespaced) continue
      const { items } = await this.#options.client.list(kind, { namespace }, signal)
      const owned = items.filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === ownerUid))
      found.push(...owned.map((object) => ({ kind, object })))
    }
    return found
  }

  async #patch(kind: Kind, object: KubernetesObject, metadata: object, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.client.patch(kind, refOf(object), { metadata }, signal)
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }

  #lookup(key: string): Found | undefined {
    const [resource = '', namespace = '', name = ''] = key.split('|')
    const entry = this.#options.watched.find(resource)
    const object = entry?.cache.get(namespace === '' ? { name } : { namespace, name })
    return entry && object ? { kind: entry.kind, object } : undefined
  }
}

function blocks(dependent: KubernetesObject | undefined, ownerUid: string): boolean {
  const owners = dependent?.metadata.ownerReferences ?? []
  return owners.some(({ uid, blockOwnerDeletion }) => uid === ownerUid && blockOwnerDeletion === true)
}

function keyFor(kind: Kind, { metadata }: KubernetesObject): string {
  return `${resourceNameOf(kind)}|${metadata.namespace ?? ''}|${metadata.name}`
}
