import { type Kind, resourceNameOf } from '../resources/kind.ts'
import { type KubernetesObject, type ObjectRef, refOf } from '../resources/kubernetes-object.ts'
import { notFound } from '../resources/status-error.ts'
import type { Store, StoreKey, StoredObject } from '../store/store.ts'
import { ObjectWatch, type WatchLife } from './reading/object-watch.ts'

export interface KindList {
  readonly items: readonly KubernetesObject[]
  readonly revision: number
}

/** The store as a kind sees it: some kinds are only views of a stored one, in another version or group. */
export class KindStore {
  readonly #store: Store
  /** By the store's list, which stays the same array until something in it changes; so does this one. */
  readonly #lists = new WeakMap<readonly StoredObject[], readonly KubernetesObject[]>()

  constructor(store: Store) {
    this.#store = store
  }

  get revision(): number {
    return this.#store.revision
  }

  get(kind: Kind, ref: ObjectRef): Pick<StoredObject, 'object' | 'revision'> | undefined {
    const stored = this.#store.get(keyFor(kind, ref))
    return stored && { object: shown(kind, stored.object), revision: stored.revision }
  }

  /** Throws NotFound when there is no such object. */
  getKnown(kind: Kind, ref: ObjectRef): Pick<StoredObject, 'object' | 'revision'> {
    const found = this.get(kind, ref)
    if (!found) throw notFound(kind, ref.name)
    return found
  }

  list(kind: Kind, namespace: string | undefined): KindList {
    const { items, revision } = this.#store.list(selectorFor(kind, namespace))
    // A kind that is a view of another has its own list, which is not cached.
    if (kind.storage) return { items: items.map(({ object }) => shown(kind, object)), revision }
    let objects = this.#lists.get(items)
    if (!objects) this.#lists.set(items, (objects = items.map(({ object }) => object)))
    return { items: objects, revision }
  }

  /** The stored objects, and how the kind shows each of them. */
  listStored(kind: Kind, namespace: string | undefined) {
    const show = (object: KubernetesObject) => shown(kind, object)
    return { ...this.#store.list(selectorFor(kind, namespace)), show }
  }

  /** Throws `StoreConflict('exists')`. */
  async create(kind: Kind, object: KubernetesObject): Promise<KubernetesObject> {
    const stored = await this.#store.create(keyFor(kind, refOf(object)), kept(kind, object))
    return shown(kind, stored.object)
  }

  /** Throws `StoreConflict('missing' | 'changed')`. */
  async update(kind: Kind, object: KubernetesObject, expectedRevision: number): Promise<KubernetesObject> {
    const stored = await this.#store.update(keyFor(kind, refOf(object)), kept(kind, object), expectedRevision)
    return shown(kind, stored.object)
  }

  /** Throws `StoreConflict('missing' | 'changed')`. */
  async delete(kind: Kind, ref: ObjectRef, expectedRevision: number): Promise<KubernetesObject> {
    return shown(kind, (await this.#store.delete(keyFor(kind, ref), expectedRevision)).object)
  }

  watch(
    kind: Kind,
    request: {
      readonly namespace: string | undefined
      readonly matches: (object: KubernetesObject) => boolean
      readonly fromRevision: number | undefined
    },
    begin: () => WatchLife,
  ): ObjectWatch {
    const { namespace, matches, fromRevision } = request
    const show = (object: KubernetesObject) => shown(kind, object)
    return new ObjectWatch(this.#store, { selector: selectorFor(kind, namespace), matches, show, fromRevision }, begin)
  }

  /** The JSON of an object that was just written, if it is still known. */
  jsonOf(object: KubernetesObject): string | undefined {
    return this.#store.jsonOf(object)
  }
}

function storedKind(kind: Kind): Kind {
  return kind.storage?.kind ?? kind
}

function keyFor(kind: Kind, ref: ObjectRef): StoreKey {
  const namespace = kind.namespaced ? (ref.namespace ?? '') : ''
  return { resource: resourceNameOf(storedKind(kind)), namespace, name: ref.name }
}

function selectorFor(kind: Kind, namespace: string | undefined) {
  return { resource: resourceNameOf(storedKind(kind)), namespace: kind.namespaced ? namespace : undefined }
}

function shown(kind: Kind, object: KubernetesObject): KubernetesObject {
  return kind.storage ? kind.storage.fromStored(object) : object
}

function kept(kind: Kind, object: KubernetesObject): KubernetesObject {
  return kind.storage ? kind.storage.toStored(object) : object
}
