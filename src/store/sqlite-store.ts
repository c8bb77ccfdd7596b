import { SluiceError } from '../foundation/errors.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { compactionPoint } from './compaction.ts'
import { ObjectTable } from './object-table.ts'
import { storeFailure } from './sqlite-failure.ts'
import { SqliteLog } from './sqlite-log.ts'
import type { Store, StoreEvent, StoreKey, StoreList, StoreSelector, StoredObject } from './store.ts'
import { encodeObject } from './stored-json.ts'
import { watchFrom } from './watch-from.ts'
import { WatchHub } from './watch-hub.ts'
import { type PlannedWrite, WriteBatch, type WriteRequest } from './write-batch.ts'
import { WrittenJson } from './written-json.ts'

export interface SqliteStoreOptions {
  /** The file; it is made when it is not there. */
  readonly path: string
  /** How many events can be watched from the past. */
  readonly historyLimit?: number | undefined
  /** How many events a watcher may be behind. */
  readonly watchBuffer?: number | undefined
}

interface WaitingWrite {
  readonly request: WriteRequest
  readonly resolve: (stored: StoredObject) => void
  readonly reject: (error: unknown) => void
}

const longestQueue = 10_000
const largestBatch = 1_000

/** Throws `store_corrupt`, `store_too_new` or `store_unavailable`. */
export function openSqliteStore(options: SqliteStoreOptions): SqliteStore {
  return new SqliteStore(options)
}

/** A store in a file. Reads come from memory; a write is acknowledged when the disk has it. */
export class SqliteStore implements Store {
  readonly #path: string
  readonly #log: SqliteLog
  readonly #historyLimit: number
  readonly #hub: WatchHub
  readonly #table = new ObjectTable()
  readonly #written = new WrittenJson()
  readonly #waiting: WaitingWrite[] = []
  #revision: number
  /** How many writes came in this turn of the event loop, and whether there were several in the last turn that had any. */
  #writesOfTurn = 0
  #isBusy = false
  /** Why no write is taken any more. */
  #failure: SluiceError | undefined
  #closed: Promise<void> | undefined

  constructor({ path, historyLimit = 10_000, watchBuffer = 1_000 }: SqliteStoreOptions) {
    this.#path = path
    this.#historyLimit = Math.max(1, historyLimit)
    this.#hub = new WatchHub(watchBuffer)
    this.#log = SqliteLog.open(path)
    try {
      const { objects, revision } = this.#log.load()
      for (const stored of objects) this.#table.put(stored)
      this.#revision = revision
    } catch (error) {
      this.#log.close()
      throw error
    }
  }

  get revision(): number {
    return this.#revision
  }

  /** Why no write is taken any more; `undefined` while they are. */
  get failure(): SluiceError | undefined {
    return this.#failure
  }

  get(key: StoreKey): StoredObject | undefined {
    return this.#table.get(key)
  }

  list(selector: StoreSelector): StoreList {
    return { items: this.#table.list(selector), revision: this.#revision }
  }

  create(key: StoreKey, object: KubernetesObject): Promise<StoredObject> {
    return this.#enqueue({ type: 'create', key, encoded: encodeObject(object) })
  }

  update(key: StoreKey, object: KubernetesObject, expectedRevision: number): Promise<StoredObject> {
    return this.#enqueue({ type: 'update', key, encoded: encodeObject(object), expectedRevision })
  }

  delete(key: StoreKey, expectedRevision?: number): Promise<StoredObject> {
    return this.#enqueue({ type: 'delete', key, expectedRevision })
  }

  watch(selector: StoreSelector, fromRevision: number, signal: AbortSignal): AsyncIterable<StoreEvent> {
    return watchFrom({ history: this.#log, hub: this.#hub }, selector, fromRevision, signal)
  }

  jsonOf(object: KubernetesObject): string | undefined {
    return this.#written.of(object)
  }

  /** Commits what waits, ends the watches and lets go of the file. */
  close(): Promise<void> {
    this.#closed ??= this.#shutDown()
    return this.#closed
  }

  async #shutDown(): Promise<void> {
    while (this.#waiting.length > 0) this.#commit()
    this.#hub.close()
    this.#log.close()
  }

  /** What is written in this turn becomes durable together, at its end: for whoever writes several, or has more to do first. */
  gather(): void {
    if (this.#writesOfTurn === 0) this.#awaitEndOfTurn()
    this.#writesOfTurn += 1
  }

  #enqueue(request: WriteRequest): Promise<StoredObject> {
    return new Promise((resolve, reject) => {
      // What is thrown here rejects the promise.
      if (this.#failure) throw this.#failure
      if (this.#closed) throw new SluiceError('stopping')
      if (this.#waiting.length >= longestQueue) throw new SluiceError('store_overloaded', { waiting: longestQueue })
      this.#waiting.push({ request, resolve, reject })
      this.#writesOfTurn += 1
      if (this.#writesOfTurn > 1) return
      this.#awaitEndOfTurn()
      // A client alone has nobody to share a commit with.
      if (!this.#isBusy) this.#commit()
    })
  }

  /** After the turn's I/O callbacks: what arrived on many connections in one turn shares one sync to disk. */
  #awaitEndOfTurn(): void {
    setImmediate(() => {
      this.#isBusy = this.#writesOfTurn > 1
      this.#writesOfTurn = 0
      if (this.#waiting.length > 0) this.#commit()
      if (this.#waiting.length === 0) return
      this.#writesOfTurn = this.#waiting.length
      this.#awaitEndOfTurn()
    })
  }

  #commit(): void {
    const writes = this.#waiting.splice(0, largestBatch)
    const batch = new WriteBatch(this.#table, this.#revision)
    const outcomes = writes.map(({ request }) => attempt(batch, request))
    try {
      if (batch.planned.length > 0) this.#log.append(batch.planned)
    } catch (error) {
      this.#stopWriting(error, writes)
      return
    }
    this.#written.forget()
    batch.apply()
    for (const { event, text } of batch.planned) {
      this.#revision = event.revision
      if (text !== null) this.#written.hold(event.object, text)
      this.#hub.publish(event)
    }
    for (const [index, { resolve, reject }] of writes.entries()) {
      const outcome = outcomes[index]
      if (outcome && 'stored' in outcome) resolve(outcome.stored)
      else reject(outcome?.error)
    }
    this.#compact()
  }

  #compact(): void {
    const compacted = compactionPoint(this.#revision, this.#log.compactedRevision, this.#historyLimit)
    if (compacted === this.#log.compactedRevision) return
    try {
      this.#log.compact(compacted)
    } catch (error) {
      this.#stopWriting(error, [])
    }
  }

  /**
   * Whether a failed commit reached the disk cannot be known here, so going on could use a revision twice. Reads go on; a
   * restart reads what the disk has.
   */
  #stopWriting(error: unknown, writes: readonly WaitingWrite[]): void {
    this.#failure = storeFailure(error, this.#path)
    for (const write of [...writes, ...this.#waiting.splice(0)]) write.reject(this.#failure)
  }
}

type Outcome = Pick<PlannedWrite, 'stored'> | { readonly error: unknown }

function attempt(batch: WriteBatch, request: WriteRequest): Outcome {
  try {
    return batch.plan(request)
  } catch (error) {
    return { error }
  }
}
