import type { ClusterApi } from '../apiserver/cluster-api.ts'
import { parseFieldSelector } from '../apiserver/reading/field-selector.ts'
import { labelsEqual } from '../apiserver/reading/label-selector.ts'
import { mergePatch } from '../apiserver/patches/merge-patch.ts'
import type { ObjectEvent } from '../apiserver/reading/object-watch.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { type Kind, apiVersionOf, resourceNameOf } from '../resources/kind.ts'
import { type KubernetesObject, type ObjectRef, refOf } from '../resources/kubernetes-object.ts'
import { conflict } from '../resources/status-error.ts'
import type {
  ClusterClient,
  DeleteOptions,
  ListOptions,
  MergePatch,
  NewObject,
  ObjectList,
  WatchEvent,
  WatchOptions,
} from './cluster-client.ts'

/** How a client writes. */
export interface EmbeddedWriting {
  /** Everything is checked, and nothing is written. */
  readonly dryRun?: boolean
  /** Whether fields that nobody knows are refused instead of dropped. */
  readonly fieldValidation?: 'Strict'
}

/**
 * The cluster in this process: the verbs of the API without the wire. Objects are shared with the store and must never
 * be changed in place.
 */
export class EmbeddedClient implements ClusterClient {
  readonly #api: ClusterApi
  readonly #writing: EmbeddedWriting & { readonly manager: string }

  /** `manager` owns the fields that are written through this client, in `metadata.managedFields`. */
  constructor(api: ClusterApi, manager = 'sluice', writing: EmbeddedWriting = {}) {
    this.#api = api
    this.#writing = { manager, ...writing }
  }

  async get<T extends KubernetesObject>(kind: Kind<T>, ref: ObjectRef): Promise<T | undefined> {
    const object = this.#api.find(kind, ref)
    return object && typed(kind, object)
  }

  async list<T extends KubernetesObject>(kind: Kind<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    const { items, resourceVersion } = this.#api.list(kind, selectionOf(kind, options))
    return { items: items.map((object) => typed(kind, object)), resourceVersion }
  }

  async create<T extends KubernetesObject>(kind: Kind<T>, object: NewObject<T>): Promise<T> {
    return typed(kind, await this.#api.create(kind, object.metadata.namespace, object, this.#writing))
  }

  async update<T extends KubernetesObject>(kind: Kind<T>, object: T): Promise<T> {
    return typed(kind, await this.#api.update(kind, refOf(object), object, this.#writing))
  }

  async updateStatus<T extends KubernetesObject>(kind: Kind<T>, object: T): Promise<T> {
    const { uid, resourceVersion } = object.metadata
    if (resourceVersion !== undefined) {
      return typed(kind, await this.#api.update(kind, refOf(object), object, this.#writing, 'status'))
    }
    // Only the status is sent: labels and finalizers could be written with it, and without a version they may be older
    // than the stored ones.
    const status: unknown = Reflect.get(object, 'status')
    const replace = (current: KubernetesObject) => {
      const { name, uid: stored } = current.metadata
      if (uid !== undefined && uid !== stored) {
        throw conflict(kind, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored}`)
      }
      return { ...current, status }
    }
    const replaced = this.#api.patch(kind, refOf(object), (_, current) => replace(current), this.#writing, 'status')
    return typed(kind, await replaced)
  }

  async changeStatus<T extends KubernetesObject>(kind: Kind<T>, ref: ObjectRef, change: (current: T) => T): Promise<T> {
    const apply = (_asked: unknown, current: KubernetesObject) => ({
      ...current,
      status: change(typed(kind, current))['status'],
    })
    return typed(kind, await this.#api.patch(kind, ref, apply, this.#writing, 'status'))
  }

  async patch<T extends KubernetesObject>(kind: Kind<T>, ref: ObjectRef, patch: MergePatch): Promise<T> {
    return typed(kind, await this.#api.patch(kind, ref, (current) => mergePatch(current, patch), this.#writing))
  }

  async delete(kind: Kind, ref: ObjectRef, options: DeleteOptions = {}): Promise<void> {
    await this.#api.delete(kind, ref, options)
  }

  watch<T extends KubernetesObject>(
    kind: Kind<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterableIterator<WatchEvent<T>> {
    const request = { ...selectionOf(kind, options), fromVersion: options.resourceVersion }
    return new EmbeddedWatch(kind, () => this.#api.watch(kind, request, signal))
  }

  async scale(kind: Kind, ref: ObjectRef, replicas: number): Promise<void> {
    await this.#api.patch(kind, ref, (scale) => mergePatch(scale, { spec: { replicas } }), this.#writing, 'scale')
  }

  /** Every kind that there can be objects of now, once each, whatever its versions. */
  servedKinds(): readonly Kind[] {
    const stored = this.#api.kinds.list().filter(({ verbs }) => verbs === undefined || verbs.includes('list'))
    return [...new Map(stored.map((kind) => [resourceNameOf(kind.storage?.kind ?? kind), kind])).values()]
  }

  /** The `finalize` subresource of a namespace: its content is gone, so the namespace may go. */
  async finalizeNamespace(name: string): Promise<void> {
    await this.#api.update(namespaceKind, { name }, { spec: { finalizers: [] } }, this.#writing, 'finalize')
  }
}

/**
 * The changes of the API as a client reports them. An iterator, because a generator would take several turns for each.
 */
class EmbeddedWatch<T extends KubernetesObject> implements AsyncIterableIterator<WatchEvent<T>> {
  readonly #kind: Kind<T>
  readonly #begin: () => AsyncIterableIterator<ObjectEvent>
  #events: AsyncIterableIterator<ObjectEvent> | undefined

  constructor(kind: Kind<T>, begin: () => AsyncIterableIterator<ObjectEvent>) {
    this.#kind = kind
    this.#begin = begin
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<WatchEvent<T>, undefined>> {
    const events = (this.#events ??= this.#begin())
    for (;;) {
      const { value: event, done } = await events.next()
      if (done) return { value: undefined, done: true }
      if (event.type === 'SYNCED') continue
      if (event.type !== 'PASSED') {
        return { value: { type: event.type, object: typed(this.#kind, event.object) }, done: false }
      }
      return { value: { type: 'BOOKMARK', resourceVersion: String(event.revision) }, done: false }
    }
  }

  async return(): Promise<IteratorResult<WatchEvent<T>, undefined>> {
    await this.#events?.return?.()
    return { value: undefined, done: true }
  }
}

function selectionOf(kind: Kind, { namespace, labels = {}, fields = {} }: ListOptions) {
  const asked = Object.entries(fields).map(([field, value]) => `${field}=${value}`)
  return { namespace, labels: labelsEqual(labels), fields: parseFieldSelector(kind, asked.join(',')) }
}

function typed<T extends KubernetesObject>(kind: Kind<T>, object: KubernetesObject): T {
  if (isOfKind(kind, object)) return object
  throw new TypeError(`expected a ${kind.kind}, got ${object.apiVersion} ${object.kind}`)
}

/** Stored objects went through the schema of their kind, so the kind determines the type. */
function isOfKind<T extends KubernetesObject>(kind: Kind<T>, object: KubernetesObject): object is T {
  return object.kind === kind.kind && object.apiVersion === apiVersionOf(kind)
}
