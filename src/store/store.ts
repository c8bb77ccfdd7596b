import type { KubernetesObject } from '../resources/kubernetes-object.ts'

/**
 * Revisioned objects with watch. There is one monotonic revision for the whole store. Every acknowledged write is
 * durable (as far as the implementation is: memory promises only order) and has a revision of its own, which is never
 * used twice.
 *
 * Reads are synchronous: one process owns the store, so a read sees every acknowledged write at once. Writes that
 * arrive together may share one commit, which is why they are awaited.
 */
export interface Store {
  /** The newest acknowledged revision; 0 when nothing was ever written. */
  readonly revision: number
  get(key: StoreKey): StoredObject | undefined
  /** All objects of one resource (in one namespace), ordered by namespace and name, as of one revision. */
  list(selector: StoreSelector): StoreList
  /** Throws `StoreConflict('exists')`. */
  create(key: StoreKey, object: KubernetesObject): Promise<StoredObject>
  /** Throws `StoreConflict('missing' | 'changed')`. */
  update(key: StoreKey, object: KubernetesObject, expectedRevision: number): Promise<StoredObject>
  /**
   * Resolves with the last state of the object and the revision of its deletion. Throws `StoreConflict('missing' |
   * 'changed')`.
   */
  delete(key: StoreKey, expectedRevision?: number): Promise<StoredObject>
  /**
   * Every change after `fromRevision`, in order, without gaps or duplicates, until the signal is aborted, which just
   * ends it. Throws `StoreCompacted` when history does not reach back that far, `SlowWatcher` when the reader falls too
   * far behind.
   */
  watch(selector: StoreSelector, fromRevision: number, signal: AbortSignal): AsyncIterable<StoreEvent>
  /**
   * The JSON of an object that was just written, with its version, so that whoever answers or reports the write need
   * not encode it again. `undefined` when it is no longer known, which may be after any other write.
   */
  jsonOf(object: KubernetesObject): string | undefined
  close(): Promise<void>
}

/** `resource` is `plural` or `plural.group`; cluster-scoped objects have the namespace ''. */
export interface StoreKey {
  readonly resource: string
  readonly namespace: string
  readonly name: string
}

export interface StoreSelector {
  readonly resource: string
  readonly namespace?: string | undefined
}

export interface StoredObject {
  readonly key: StoreKey
  readonly revision: number
  /** With `metadata.resourceVersion` set to the revision. Shared: must never be changed in place. */
  readonly object: KubernetesObject
}

export interface StoreList {
  readonly items: readonly StoredObject[]
  readonly revision: number
}

export interface StoreEvent {
  readonly type: 'created' | 'updated' | 'deleted'
  readonly revision: number
  readonly key: StoreKey
  /** After the change; for a deletion, its last state with the revision of the deletion. */
  readonly object: KubernetesObject
  /** Before the change, if it existed: selectors need to know whether an object used to match. */
  readonly previous?: KubernetesObject | undefined
}

export class StoreConflict extends Error {
  override readonly name = 'StoreConflict'
  readonly reason: 'exists' | 'missing' | 'changed'

  constructor(reason: StoreConflict['reason'], key: StoreKey) {
    super(`${key.resource} ${key.namespace}/${key.name}: ${reason}`)
    this.reason = reason
  }
}

export class StoreCompacted extends Error {
  override readonly name = 'StoreCompacted'
  readonly oldestRevision: number

  constructor(fromRevision: number, oldestRevision: number) {
    super(`revision ${fromRevision} has been compacted; the oldest is ${oldestRevision}`)
    this.oldestRevision = oldestRevision
  }
}

export class SlowWatcher extends Error {
  override readonly name = 'SlowWatcher'
}
