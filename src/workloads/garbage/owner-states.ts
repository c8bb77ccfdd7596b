import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { KubernetesObject, OwnerReference } from '../../resources/kubernetes-object.ts'
import type { WatchedKinds } from '../kind-caches.ts'

/** `waiting`: it is being deleted in the foreground, and stays until its dependents are gone. */
export type OwnerState = 'present' | 'waiting' | 'gone' | 'unknown'

export type Fate = 'stays' | 'loses-references' | 'goes'

/** An object goes when it has owners and none of them remains. An owner that cannot be looked up may exist. */
export function fateOf(owners: readonly OwnerState[]): Fate {
  if (owners.length === 0) return 'stays'
  const leaving = owners.filter((state) => state === 'gone' || state === 'waiting').length
  if (leaving === owners.length) return 'goes'
  return leaving > 0 ? 'loses-references' : 'stays'
}

const mostRemembered = 512
export const foregroundFinalizer = 'foregroundDeletion'
export const orphanFinalizer = 'orphan'

/** Whether owners exist. Asked of the cluster and not of a cache, because being behind must never delete anything. */
export class OwnerStates {
  readonly #client: ClusterClient
  readonly #watched: WatchedKinds
  /** Uids of objects that were seen to go: they never come back, even if their kind is no longer served. */
  readonly #gone = new Set<string>()

  constructor(client: ClusterClient, watched: WatchedKinds) {
    this.#client = client
    this.#watched = watched
  }

  sawGone(uid: string): void {
    this.#gone.add(uid)
    const [oldest] = this.#gone
    if (this.#gone.size > mostRemembered && oldest !== undefined) this.#gone.delete(oldest)
  }

  async of(owner: OwnerReference, dependent: KubernetesObject, signal: AbortSignal): Promise<OwnerState> {
    if (this.#gone.has(owner.uid)) return 'gone'
    const group = owner.apiVersion.split('/').slice(0, -1).join('/')
    // Objects are the same in every version of their kind.
    const entry = this.#watched.list().find(({ kind }) => kind.kind === owner.kind && kind.group === group)
    if (!entry) return 'unknown'
    const { kind } = entry
    const { namespace } = dependent.metadata
    // A cluster-scoped object cannot have a namespaced owner: there is no telling which was meant.
    if (kind.namespaced && namespace === undefined) return 'unknown'
    const found = await this.#client.get(kind, { ...(kind.namespaced && { namespace }), name: owner.name }, signal)
    if (found?.metadata.uid !== owner.uid) return 'gone'
    return isWaiting(found) ? 'waiting' : 'present'
  }
}

export function isWaiting({ metadata }: KubernetesObject): boolean {
  const { deletionTimestamp, finalizers = [] } = metadata
  return deletionTimestamp !== undefined && finalizers.includes(foregroundFinalizer)
}

export function isOrphaning({ metadata }: KubernetesObject): boolean {
  const { deletionTimestamp, finalizers = [] } = metadata
  return deletionTimestamp !== undefined && finalizers.includes(orphanFinalizer)
}
