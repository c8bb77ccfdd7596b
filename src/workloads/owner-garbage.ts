import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { ObjectChange } from '../cluster/informer.ts'
import { WorkQueue } from '../cluster/work-queue.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { type Kind, resourceNameOf } from '../resources/kind.ts'
import { type KubernetesObject, refOf } from '../resources/kubernetes-object.ts'
import { isStatusError } from '../resources/status-error.ts'
import type { WatchedKind, WatchedKinds } from './kind-caches.ts'
import { OwnerStates, fateOf, foregroundFinalizer, isOrphaning, isWaiting, orphanFinalizer } from './owner-states.ts'
import { ignoreGoneOrChanged } from './ignore-gone.ts'

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

/** Deletes what lost its owners, and carries out deletions in the foreground and those that orphan. */
export class OwnerGarbage {
  readonly #options: OwnerGarbageOptions
  readonly #queue: WorkQueue
  readonly #states: OwnerStates
  /** Owner uid → dependents, as `resource|namespace|name`. */
  readonly #dependents = new Map<string, Set<string>>()
  /** Uid → key of owners that are being deleted and wait for their dependents. */
  readonly #waiting = new Map<string, string>()
  /** Dependents of owners whose kind is not known; looked at again when there are more kinds. */
  readonly #puzzling = new Set<string>()

  constructor(options: OwnerGarbageOptions) {
    this.#options = options
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
    for (const { uid } of previous?.metadata.ownerReferences ?? []) this.#unlink(uid, key)
    const { uid: ownUid = '', ownerReferences: owners = [] } = object.metadata
    const waits = isWaiting(object) || isOrphaning(object)
    if (type !== 'deleted' && waits) this.#waiting.set(ownUid, key)
    else this.#waiting.delete(ownUid)
    if (type === 'deleted') {
      this.#states.sawGone(ownUid)
      this.#puzzling.delete(key)
      for (const { uid } of owners) this.#unlink(uid, key)
      for (const dependent of this.#dependents.get(ownUid) ?? []) this.#queue.add(dependent)
    } else {
      for (const { uid } of owners) this.#dependents.set(uid, (this.#dependents.get(uid) ?? new Set()).add(key))
      if (owners.length > 0 || waits) this.#queue.add(key)
    }
    // An owner that waits in the foreground may have waited for this one.
    for (const { uid } of [...owners, ...(previous?.metadata.ownerReferences ?? [])]) {
      const owner = this.#waiting.get(uid)
      if (owner !== undefined && this.#dependents.get(uid)?.has(key) !== true) this.#queue.add(owner)
    }
  }

  #unlink(ownerUid: string, key: string): void {
    const dependents = this.#dependents.get(ownerUid)
    dependents?.delete(key)
    if (dependents?.size === 0) this.#dependents.delete(ownerUid)
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const found = this.#lookup(key)
    if (!found) return
    const { kind, object } = found
    if (isOrphaning(object)) return this.#orphan(kind, object, signal)
    if (isWaiting(object)) await this.#deleteDependents(kind, object, signal)
    else if (object.metadata.deletionTimestamp === undefined) await this.#judge(key, kind, object, signal)
  }

  /** Whether the object's owners let it live. */
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
        // Whoever is waited for takes its own dependents along first.
        const inForeground = states.includes('waiting') && this.#dependents.has(uid)
        const propagation =
          inForeground || finalizers.includes(foregroundFinalizer)
            ? 'Foreground'
            : finalizers.includes(orphanFinalizer)
              ? 'Orphan'
              : 'Background'
        await this.#options.client.delete(kind, refOf(object), { uid, propagation }, signal).catch(ignoreGoneOrChanged)
      }
    }
  }

  /** The object holds on until those of its dependents that block it are gone. */
  async #deleteDependents(kind: Kind, object: KubernetesObject, signal: AbortSignal): Promise<void> {
    const { uid = '', resourceVersion, finalizers = [] } = object.metadata
    const known = [...(this.#dependents.get(uid) ?? [])]
    for (const dependent of known) this.#queue.add(dependent)
    if (known.some((dependent) => blocks(this.#lookup(dependent)?.object, uid))) return
    // The cache may be behind: it counts only what the cluster says itself.
    const there = await this.#dependentsOf(uid, object.metadata.namespace, signal)
    if (there.some((dependent) => blocks(dependent.object, uid))) return
    const rest = finalizers.filter((name) => name !== foregroundFinalizer)
    await this.#patch(kind, object, { uid, resourceVersion, finalizers: rest }, signal)
  }

  /** The object goes as soon as nobody names it as an owner any more. */
  async #orphan(kind: Kind, object: KubernetesObject, signal: AbortSignal): Promise<void> {
    const { uid: owner = '', resourceVersion: version, finalizers = [] } = object.metadata
    for (const dependent of await this.#dependentsOf(owner, object.metadata.namespace, signal)) {
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

  /** Asked of the cluster itself: one that the cache does not know yet would be deleted instead of let go. */
  async #dependentsOf(ownerUid: string, namespace: string | undefined, signal: AbortSignal): Promise<Found[]> {
    const found: Found[] = []
    for (const { kind } of this.#options.watched.list()) {
      // What an object in a namespace owns is in that namespace, too.
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
