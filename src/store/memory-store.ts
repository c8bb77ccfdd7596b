import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { compactionPoint } from './compaction.ts'
import { ObjectTable } from './table/object-table.ts'
import { PendingWrites } from './pending-writes.ts'
import type { WriteRequest } from './planned-write.ts'
import {
  type Store,
  StoreCompacted,
  type StoreEvent,
  type StoreKey,
  type StoreList,
  type StoreSelector,
  type StoredObject,
} from './store.ts'
import { encodeObject } from './stored-json.ts'
import { type HistoryPage, type StoreHistory, watchFrom } from './watching/watch-from.ts'
import { WatchHub } from './watching/watch-hub.ts'
import { WrittenJson } from './written-json.ts'

export interface MemoryStoreOptions {
  /** How many past events can be watched. */
  readonly historyLimit?: number | undefined
  /** How many events a watcher may be behind. */
  readonly watchBuffer?: number | undefined
}

/** A store that ends with the process, for tests and for what need not be kept. */
export class MemoryStore implements Store, StoreHistory {
  readonly #table = new ObjectTable()
  readonly #pending = new PendingWrites(this.#table, 0)
  readonly #hub: WatchHub
  readonly #written = new WrittenJson()
  readonly #historyLimit: number
  /** Every event after `#compactedRevision`, without gaps. */
  #events: StoreEvent[] = []
  #compactedRevision = 0
  #revision = 0

  constructor({ historyLimit = 10_000, watchBuffer = 1_000 }: MemoryStoreOptions = {}) {
    this.#historyLimit = historyLimit
    this.#hub = new WatchHub(watchBuffer)
  }

  get revision(): number {
    return this.#revision
  }

  get(key: StoreKey): StoredObject | undefined {
    return this.#table.get(key)
  }

  list(selector: StoreSelector): StoreList {
    return { items: this.#table.list(selector), revision: this.#revision }
  }

  async create(key: StoreKey, object: KubernetesObject): Promise<StoredObject> {
    return this.#write({ type: 'create', key, encoded: encodeObject(object) })
  }

  async update(key: StoreKey, object: KubernetesObject, expectedRevision: number): Promise<StoredObject> {
    return this.#write({ type: 'update', key, encoded: encodeObject(object), expectedRevision })
  }

  async delete(key: StoreKey, expectedRevision?: number): Promise<StoredObject> {
    return this.#write({ type: 'delete', key, expectedRevision })
  }

  watch(selector: StoreSelector, fromRevision: number, signal: AbortSignal): AsyncIterable<StoreEvent> {
    return watchFrom({ history: this, hub: this.#hub }, selector, fromRevision, signal)
  }

  read({ resource, namespace }: StoreSelector, afterRevision: number, limit: number): HistoryPage {
    if (afterRevision < this.#compactedRevision) throw new StoreCompacted(afterRevision, this.#compactedRevision)
    const page: StoreEvent[] = []
    for (let index = afterRevision - this.#compactedRevision; index < this.#events.length; index += 1) {
      const event = this.#events[index]
      if (!event || event.key.resource !== resource) continue
      if (namespace === undefined || namespace === event.key.namespace) page.push(event)
      if (page.length >= limit) break
    }
    return { events: page, revision: this.#revision }
  }

  jsonOf(object: KubernetesObject): string | undefined {
    return this.#written.of(object)
  }

  async close(): Promise<void> {
    this.#hub.close()
  }

  #write(request: WriteRequest): StoredObject {
    const { stored, event, text } = this.#pending.plan(request)
    this.#written.forget()
    if (text !== null) this.#written.hold(stored.object, text)
    this.#pending.applyThrough(event.revision)
    this.#revision = event.revision
    this.#events.push(event)
    const compacted = compactionPoint(this.#revision, this.#compactedRevision, this.#historyLimit)
    if (compacted > this.#compactedRevision) {
      this.#events = this.#events.slice(compacted - this.#compactedRevision)
      this.#compactedRevision = compacted
    }
    this.#hub.publish(event, text)
    return stored
  }
}
