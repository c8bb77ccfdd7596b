import type { KubernetesObject } from '../resources/kubernetes-object.ts'

/**
 * Revisioned objects with watch. One monotonic revision for the whole store; every acknowledged write is durable (as
 * far as the implementation is: memory promises only order) and has a revision of its own, never used twice.
 *
 * Reads are synchronous: one process owns the store, so a read sees every acknowledged write at once. Writes that
 * arrive together may share one commit, which is why they are awaited.
 */
export interface Store {
  /** The newest acknowledged revision; 0 when nothing was ever written. */
  readonly revision: number
  get(key: StoreKey): StoredObject | undefined
  /** Everything of one resource (in one namespace), ordered by namespace and name, as of one revision. */
  list(selector: StoreSelector): StoreList
  /** Throws `StoreConflict('exists')`. */
  create(key: StoreKey, object: KubernetesObject): Promise<StoredObject>
  /** Throws `StoreConflict('missing' | 'changed')`. */
  update(key: StoreKey, object: KubernetesObject, expectedRevision: number): Promise<StoredObject>
  /**
   * Resolves with the object as it was last, and the revision of its deletion. Throws
   * `StoreConflict('missing' | 'changed')`.
   */
  delete(key: StoreKey, expectedRevision?: number): Promise<StoredObject>
  /**
   * Every change after `fromRevision`, in order, without gap or duplicate, until the signal is aborted
   * (then it just ends). Throws `StoreCompacted` when history no longer reaches back, `SlowWatcher` when
   * the reader falls too far behind.
   */
  watch(selector: StoreSelector, fromRevision: number, signal: AbortSignal): AsyncIterable<StoreEvent>
  /**
   * The JSON of an object that was just written, with its version: who answers the write, or tells of it, need not
   * encode it again. `undefined` when it is not known any more; another write may follow at any time.
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
  /** With `metadata.resourceVersion` set to the revision. Shared and frozen in spirit: never changed in place. */
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
  /** After the change; for a deletion, as it was last, with the revision of the deletion. */
  readonly object: KubernetesObject
  /** Before the change, when there was one: selectors need to know whether an object used to match. */
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
