import type { Kind } from '../../resources/kind.ts'
import type { KubernetesObject, ObjectRef } from '../../resources/kubernetes-object.ts'
import type {
  ClusterClient,
  DeleteOptions,
  ListOptions,
  MergePatch,
  NewObject,
  ObjectList,
  WatchEvent,
  WatchOptions,
} from '../cluster-client.ts'
import type { LeaderLease } from './leader-lease.ts'

/**
 * The cluster as a leader sees it: every change is refused here when the lease may have run out. A program that was
 * paused for long goes on where it stopped, before it hears that another one leads.
 */
export class LeaderClient implements ClusterClient {
  readonly #client: ClusterClient
  readonly #lease: Pick<LeaderLease, 'isHeld'>

  constructor(client: ClusterClient, lease: Pick<LeaderLease, 'isHeld'>) {
    this.#client = client
    this.#lease = lease
  }

  get<T extends KubernetesObject>(kind: Kind<T>, ref: ObjectRef, signal?: AbortSignal): Promise<T | undefined> {
    return this.#client.get(kind, ref, signal)
  }

  list<T extends KubernetesObject>(kind: Kind<T>, options?: ListOptions, signal?: AbortSignal): Promise<ObjectList<T>> {
    return this.#client.list(kind, options, signal)
  }

  watch<T extends KubernetesObject>(
    kind: Kind<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    return this.#client.watch(kind, options, signal)
  }

  async create<T extends KubernetesObject>(kind: Kind<T>, object: NewObject<T>, signal?: AbortSignal): Promise<T> {
    this.#mustLead()
    return this.#client.create(kind, object, signal)
  }

  async update<T extends KubernetesObject>(kind: Kind<T>, object: T, signal?: AbortSignal): Promise<T> {
    this.#mustLead()
    return this.#client.update(kind, object, signal)
  }

  async updateStatus<T extends KubernetesObject>(kind: Kind<T>, object: T, signal?: AbortSignal): Promise<T> {
    this.#mustLead()
    return this.#client.updateStatus(kind, object, signal)
  }

  async changeStatus<T extends KubernetesObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    change: (current: T) => T,
    signal?: AbortSignal,
  ): Promise<T> {
    // Asked again after each look at the object, which may have taken long.
    const changeAsLeader = (current: T) => {
      this.#mustLead()
      return change(current)
    }
    return this.#client.changeStatus(kind, ref, changeAsLeader, signal)
  }

  async patch<T extends KubernetesObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    patch: MergePatch,
    signal?: AbortSignal,
  ): Promise<T> {
    this.#mustLead()
    return this.#client.patch(kind, ref, patch, signal)
  }

  async delete(kind: Kind, ref: ObjectRef, options?: DeleteOptions, signal?: AbortSignal): Promise<void> {
    this.#mustLead()
    return this.#client.delete(kind, ref, options, signal)
  }

  async scale(kind: Kind, ref: ObjectRef, replicas: number, signal?: AbortSignal): Promise<void> {
    this.#mustLead()
    return this.#client.scale(kind, ref, replicas, signal)
  }

  #mustLead(): void {
    if (!this.#lease.isHeld) throw new Error('nothing is changed: this one may no longer lead')
  }
}
