import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { isOrphaning, isWaiting } from './owner-states.ts'

/**
 * Which objects name which owners, kept up to date by changes. Keys are the garbage collector's; owners are identified
 * by uid.
 */
export class OwnerGraph {
  readonly #dependents = new Map<string, Set<string>>()
  /** The same, for those that their owner waits for in a foreground deletion. */
  readonly #blocking = new Map<string, Set<string>>()
  /** Owners that are being deleted and wait until something is done with their dependents. */
  readonly #waiting = new Map<string, string>()
  readonly #uids = new Map<string, string>()

  put(key: string, object: KubernetesObject, previous: KubernetesObject | undefined): void {
    this.#unlink(key, previous)
    const { uid = '', ownerReferences = [] } = object.metadata
    this.#uids.set(key, uid)
    for (const owner of ownerReferences) {
      link(this.#dependents, owner.uid, key)
      if (owner.blockOwnerDeletion === true) link(this.#blocking, owner.uid, key)
    }
    if (isWaiting(object) || isOrphaning(object)) this.#waiting.set(uid, key)
    else this.#waiting.delete(uid)
  }

  remove(key: string, object: KubernetesObject, previous: KubernetesObject | undefined): void {
    this.#unlink(key, previous)
    this.#unlink(key, object)
    this.#uids.delete(key)
    this.#waiting.delete(object.metadata.uid ?? '')
  }

  dependentsOf(uid: string): ReadonlySet<string> {
    return this.#dependents.get(uid) ?? nobody
  }

  isBlocked(uid: string): boolean {
    return this.#blocking.has(uid)
  }

  waitingKey(uid: string): string | undefined {
    return this.#waiting.get(uid)
  }

  /**
   * Uids of those owners of the object that wait, directly or through other waiting objects, for the object itself,
   * which waits as well: none of them would ever go. The cost is the number of waiting objects below this one.
   */
  ownersInCircle({ metadata }: KubernetesObject): ReadonlySet<string> {
    const { uid: own = '', ownerReferences = [] } = metadata
    const blocked = ownerReferences.filter((owner) => owner.blockOwnerDeletion === true && this.#waiting.has(owner.uid))
    if (blocked.length === 0) return nobody
    const reached = new Set<string>()
    const open = [own]
    for (let uid = open.pop(); uid !== undefined; uid = open.pop()) {
      for (const key of this.#blocking.get(uid) ?? []) {
        const next = this.#uids.get(key) ?? ''
        if (reached.has(next) || !this.#waiting.has(next)) continue
        reached.add(next)
        open.push(next)
      }
    }
    return new Set(blocked.map((owner) => owner.uid).filter((uid) => reached.has(uid)))
  }

  #unlink(key: string, object: KubernetesObject | undefined): void {
    for (const { uid } of object?.metadata.ownerReferences ?? []) {
      unlink(this.#dependents, uid, key)
      unlink(this.#blocking, uid, key)
    }
  }
}

const nobody: ReadonlySet<string> = new Set()

function link(links: Map<string, Set<string>>, uid: string, key: string): void {
  const keys = links.get(uid)
  if (keys) keys.add(key)
  else links.set(uid, new Set([key]))
}

function unlink(links: Map<string, Set<string>>, uid: string, key: string): void {
  const keys = links.get(uid)
  keys?.delete(key)
  if (keys?.size === 0) links.delete(uid)
}
