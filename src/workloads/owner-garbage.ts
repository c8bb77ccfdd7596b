import type { ClusterClient } from '../cluster/cluster-client.ts'
import type { ObjectCache } from '../cluster/informer.ts'
import { WorkQueue } from '../cluster/work-queue.ts'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { type Kind, apiVersionOf, resourceNameOf } from '../resources/kind.ts'
import { type KubernetesObject, type OwnerReference, refOf } from '../resources/kubernetes-object.ts'
import { isStatusError } from '../resources/status-error.ts'

export interface WatchedKind {
  readonly kind: Kind
  readonly cache: ObjectCache<KubernetesObject>
}

export interface OwnerGarbageOptions {
  readonly client: ClusterClient
  readonly watched: readonly WatchedKind[]
  readonly clock: Clock
  readonly log: Logger
}

export type OwnerState = 'present' | 'gone' | 'unknown'

/** An object goes when it has owners and every one of them is gone. An owner we cannot look up may be there. */
export function isGarbage(owners: readonly OwnerState[]): boolean {
  return owners.length > 0 && owners.every((state) => state === 'gone')
}

const foreground = 'foregroundDeletion'
const orphan = 'orphan'

/** Deletes what lost its owners, and carries out deletions in the foreground and those that orphan. */
export class OwnerGarbage {
  readonly #options: OwnerGarbageOptions
  readonly #queue: WorkQueue
  /** Owner uid → dependents, as `resource|namespace|name`. */
  readonly #dependents = new Map<string, Set<string>>()
  /** Uid → key of owners that are being deleted and wait for their dependents. */
  readonly #waiting = new Map<string, string>()
  readonly #byResource: ReadonlyMap<string, WatchedKind>

  constructor(options: OwnerGarbageOptions) {
    this.#options = options
    const { clock, log, watched } = options
    const reconcile = (key: string, signal: AbortSignal) => this.#reconcile(key, signal)
    this.#queue = new WorkQueue({ name: 'owner-garbage', clock, log, concurrency: 4, reconcile })
    this.#byResource = new Map(watched.map((entry) => [resourceNameOf(entry.kind), entry]))
    for (const { kind, cache } of watched) {
      cache.onChange(({ type, object, previous }) => this.#observe(kind, type, object, previous))
    }
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal)
  }

  #observe(
    kind: Kind,
    type: 'added' | 'updated' | 'deleted',
    object: KubernetesObject,
    previous?: KubernetesObject,
  ): void {
    const key = keyFor(kind, object)
    for (const { uid } of previous?.metadata.ownerReferences ?? []) this.#unlink(uid, key)
    const { uid: ownUid = '', ownerReferences: owners = [] } = object.metadata
    const waits = waitsForDependents(object)
    if (type !== 'deleted' && waits) this.#waiting.set(ownUid, key)
    else this.#waiting.delete(ownUid)
    if (type === 'deleted') {
      for (const { uid } of owners) {
        this.#unlink(uid, key)
        // An owner that waits in the foreground may have waited for this one.
        const owner = this.#waiting.get(uid)
        if (owner !== undefined) this.#queue.add(owner)
      }
      for (const dependent of this.#dependents.get(ownUid) ?? []) this.#queue.add(dependent)
      return
    }
    for (const { uid } of owners) this.#dependents.set(uid, (this.#dependents.get(uid) ?? new Set()).add(key))
    if (owners.length > 0 || waits) this.#queue.add(key)
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
    if (waitsForDependents(object)) return this.#settleDependents(kind, object, signal)
    const owners = object.metadata.ownerReferences ?? []
    if (owners.length === 0 || object.metadata.deletionTimestamp !== undefined) return
    const states = await Promise.all(owners.map((owner) => this.#stateOf(owner, object.metadata.namespace, signal)))
    if (!isGarbage(states)) return
    await this.#delete(kind, object, signal)
  }

  /** Asked of the cluster itself, not of the cache: being behind must never delete anything. */
  async #stateOf(owner: OwnerReference, namespace: string | undefined, signal: AbortSignal): Promise<OwnerState> {
    const entry = this.#options.watched.find(
      ({ kind }) => kind.kind === owner.kind && apiVersionOf(kind) === owner.apiVersion,
    )
    if (!entry) return 'unknown'
    const ref = entry.kind.namespaced ? { namespace, name: owner.name } : { name: owner.name }
    const found = await this.#options.client.get(entry.kind, ref, signal)
    return found?.metadata.uid === owner.uid ? 'present' : 'gone'
  }

  /** The object is being deleted and holds on until its dependents are gone, or let go of. */
  async #settleDependents(kind: Kind, object: KubernetesObject, signal: AbortSignal): Promise<void> {
    const { uid = '', finalizers = [] } = object.metadata
    const dependents = await this.#dependentsOf(uid, object.metadata.namespace, signal)
    const orphaning = finalizers.includes(orphan)
    for (const dependent of dependents) {
      if (orphaning) await this.#release(dependent.kind, dependent.object, uid, signal)
      else if (dependent.object.metadata.deletionTimestamp === undefined)
        await this.#delete(dependent.kind, dependent.object, signal)
    }
    const blocking = dependents.some(({ object: { metadata } }) =>
      metadata.ownerReferences?.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
    )
    // Looked at again when the last of them is gone.
    if (!orphaning && blocking) return
    const rest = finalizers.filter((name) => name !== orphan && name !== foreground)
    await this.#options.client
      .patch(kind, refOf(object), { metadata: { uid, finalizers: rest } }, signal)
      .catch(ignoreGone)
  }

  /** Asked of the cluster itself: one that the cache does not know yet would be deleted instead of let go. */
  async #dependentsOf(ownerUid: string, namespace: string | undefined, signal: AbortSignal) {
    const found: { readonly kind: Kind; readonly object: KubernetesObject }[] = []
    for (const { kind } of this.#options.watched) {
      // What an object in a namespace owns is in that namespace, too.
      if (namespace !== undefined && !kind.namespaced) continue
      const { items } = await this.#options.client.list(kind, { namespace }, signal)
      const owned = items.filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === ownerUid))
      found.push(...owned.map((object) => ({ kind, object })))
    }
    return found
  }

  async #release(kind: Kind, object: KubernetesObject, ownerUid: string, signal: AbortSignal): Promise<void> {
    const { uid, resourceVersion, ownerReferences = [] } = object.metadata
    const kept = ownerReferences.filter((owner) => owner.uid !== ownerUid)
    const metadata = { uid, resourceVersion, ownerReferences: kept }
    await this.#options.client.patch(kind, refOf(object), { metadata }, signal)
  }

  async #delete(kind: Kind, object: KubernetesObject, signal: AbortSignal): Promise<void> {
    const { uid } = object.metadata
    await this.#options.client.delete(kind, refOf(object), { uid, propagation: 'Background' }, signal).catch(ignoreGone)
  }

  #lookup(key: string): { kind: Kind; object: KubernetesObject } | undefined {
    const [resource = '', namespace = '', name = ''] = key.split('|')
    const entry = this.#byResource.get(resource)
    const object = entry?.cache.get(namespace === '' ? { name } : { namespace, name })
    return entry && object ? { kind: entry.kind, object } : undefined
  }
}

function keyFor(kind: Kind, { metadata }: KubernetesObject): string {
  return `${resourceNameOf(kind)}|${metadata.namespace ?? ''}|${metadata.name}`
}

function waitsForDependents({ metadata }: KubernetesObject): boolean {
  const { deletionTimestamp, finalizers = [] } = metadata
  return deletionTimestamp !== undefined && (finalizers.includes(foreground) || finalizers.includes(orphan))
}

function ignoreGone(error: unknown): void {
  if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
}
