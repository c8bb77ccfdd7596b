import type { ObjectCache } from '../../cluster/informer.ts'
import { type KubernetesObject, type OwnerReference, keyOf, refOf } from '../../resources/kubernetes-object.ts'

/** The owner that manages an object, if there is one. */
export function controllerOf({ metadata }: KubernetesObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true)
}

/**
 * The objects of a cache by the owner that manages them, kept up to date by changes, so that finding an owner's objects
 * never searches all of them.
 */
export class OwnedObjects<T extends KubernetesObject> {
  readonly #byOwner = new Map<string, Map<string, T>>()

  /** Must be created before the cache fills: it only sees changes. */
  constructor(cache: ObjectCache<T>) {
    cache.onChange(({ type, object, previous }) => {
      const key = keyOf(refOf(object))
      if (previous) this.#remove(groupOf(previous), key)
      if (type === 'deleted') this.#remove(groupOf(object), key)
      else this.#put(groupOf(object), key, object)
    })
  }

  of(ownerUid: string | undefined): readonly T[] {
    return ownerUid === undefined ? [] : [...(this.#byOwner.get(ownerUid)?.values() ?? [])]
  }

  orphansIn(namespace: string | undefined): readonly T[] {
    return [...(this.#byOwner.get(orphanGroup(namespace))?.values() ?? [])]
  }

  #put(group: string, key: string, object: T): void {
    const objects = this.#byOwner.get(group) ?? new Map<string, T>()
    objects.set(key, object)
    this.#byOwner.set(group, objects)
  }

  #remove(group: string, key: string): void {
    const objects = this.#byOwner.get(group)
    objects?.delete(key)
    if (objects?.size === 0) this.#byOwner.delete(group)
  }
}

function groupOf(object: KubernetesObject): string {
  return controllerOf(object)?.uid ?? orphanGroup(object.metadata.namespace)
}

/** Uids contain no slash, so the keys cannot clash. */
function orphanGroup(namespace: string | undefined): string {
  return `orphans/${namespace ?? ''}`
}
