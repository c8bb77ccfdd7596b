import { type CancelTimer, type Clock, systemClock } from '../foundation/clock.ts'
import { SluiceError, asError } from '../foundation/errors.ts'
import type { KubernetesObject } from '../resources/kubernetes-object.ts'
import { eventsOf, objectsOf } from './sqlite-file/decode-rows.ts'
import { ObjectTable } from './table/object-table.ts'
import { PendingWrites } from './pending-writes.ts'
import type { PlannedWrite, WriteRequest } from './planned-write.ts'
import { RestartDelays } from './sqlite-file/restart-delays.ts'
import type { StepGate } from './sqlite-file/step-gate.ts'
import type { Store, StoreEvent, StoreKey, StoreList, StoreSelector, StoredObject } from './store.ts'
import { encodeObject } from './stored-json.ts'
import { LogThreadClient } from './sqlite-file/log-thread-client.ts'
import { StoreThread } from './sqlite-file/store-thread.ts'
import { type HistoryPage, type StoreHistory, watchFrom } from './watching/watch-from.ts'
import { WatchHub } from './watching/watch-hub.ts'
import { WrittenJson } from './written-json.ts'

export interface SqliteStoreOptions {
  /** The file, which is created if it does not exist. */
  readonly path: string
  /** How many past events can be watched. */
  readonly historyLimit?: number | undefined
  /** How many events a watcher may be behind. */
  readonly watchBuffer?: number | undefined
  /**
   * For these resources, how many objects a start keeps: the newest. The others are gone, and no watch continues across
   * that start.
   */
  readonly keepNewest?: Readonly<Record<string, number>> | undefined
  /** Where files are written: one of its own, unless it shares one with other stores. */
  readonly thread?: StoreThread | undefined
  /** What became of the thread that has the file. */
  readonly onTrouble?: ((trouble: StoreTrouble) => void) | undefined
  readonly clock?: Clock | undefined
  /** For tests: where the thread is to stop or to end. */
  readonly gate?: StepGate | undefined
}

/**
 * The thread that owns the file was lost; it could not be restarted; it is back, and this many writes were not made.
 */
export type StoreTrouble =
  | { readonly type: 'lost'; readonly error: Error; readonly againInMs: number }
  | { readonly type: 'not back'; readonly error: Error; readonly againInMs: number }
  | { readonly type: 'back'; readonly revision: number; readonly notMade: number }

/** A decided write with its caller's promise. */
interface Waiting {
  /**
   * Everything up to this revision must be durable before the outcome is told: what a write conflicts with may not be
   * durable yet.
   */
  readonly revision: number
  readonly planned: PlannedWrite | undefined
  readonly conflict: unknown
  readonly resolve: (stored: StoredObject) => void
  readonly reject: (error: unknown) => void
}

const longestQueue = 10_000
const largestQueueBytes = 32 * 1024 * 1024
const largestBatch = 1_000
/**
 * After the thread was lost, whoever waits for a write is told by then, even if it is not known whether it was made.
 */
const outcomeDeadlineMs = 5_000

/** Rejects with `store_corrupt`, `store_too_new` or `store_unavailable`. */
export function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  return SqliteStore.open(options)
}

/**
 * A store in a file. Reads come from memory. Writes are decided here, in order, and sent to the thread that owns the
 * file; they are acknowledged and shown only when it reports them durable. So nothing here ever waits for the disk.
 */
export class SqliteStore implements Store, StoreHistory {
  readonly #options: SqliteStoreOptions
  readonly #clock: Clock
  readonly #hub: WatchHub
  readonly #table = new ObjectTable()
  readonly #written = new WrittenJson()
  readonly #delays: RestartDelays
  readonly #thread: StoreThread
  #log: LogThreadClient
  #pending = new PendingWrites(this.#table, 0)
  /** Decided, but not yet sent. */
  #unsent: PlannedWrite[] = []
  #waiting: Waiting[] = []
  #waitingBytes = 0
  #revision = 0
  /** How many writes came in this turn of the event loop, and whether the last turn with any had several. */
  #writesOfTurn = 0
  #isBusy = false
  /** Set while somebody gathers the writes of this turn. */
  #lastCall: PromiseWithResolvers<void> | undefined
  /** Why writes are refused, for good or until the thread is back. */
  #failure: SluiceError | undefined
  /** Set while the thread is lost; resolves when another one has the file. */
  #back: PromiseWithResolvers<void> | undefined
  #cancelTimers: CancelTimer[] = []
  #closed: Promise<void> | undefined

  private constructor(options: SqliteStoreOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#delays = new RestartDelays(this.#clock)
    this.#hub = new WatchHub(options.watchBuffer ?? 1_000)
    this.#thread = options.thread ?? new StoreThread()
    this.#log = this.#startThread(false)
  }

  static async open(options: SqliteStoreOptions): Promise<SqliteStore> {
    const store = new SqliteStore(options)
    try {
      const revision = await store.#log.opened
      for await (const rows of store.#log.load()) {
        for (const stored of objectsOf(rows, options.path)) store.#table.put(stored)
      }
      store.#revision = revision
      store.#pending = new PendingWrites(store.#table, revision)
    } catch (error) {
      await store.#log.close()
      throw error
    }
    return store
  }

  get revision(): number {
    return this.#revision
  }

  /** Why writes are refused; `undefined` while they are accepted. */
  get failure(): SluiceError | undefined {
    return this.#failure
  }

  /** How many writes wait for the disk. */
  get waitingWrites(): number {
    return this.#waiting.length
  }

  get(key: StoreKey): StoredObject | undefined {
    return this.#table.get(key)
  }

  list(selector: StoreSelector): StoreList {
    return { items: this.#table.list(selector), revision: this.#revision }
  }

  create(key: StoreKey, object: KubernetesObject): Promise<StoredObject> {
    return this.#write({ type: 'create', key, encoded: encodeObject(object) })
  }

  update(key: StoreKey, object: KubernetesObject, expectedRevision: number): Promise<StoredObject> {
    return this.#write({ type: 'update', key, encoded: encodeObject(object), expectedRevision })
  }

  delete(key: StoreKey, expectedRevision?: number): Promise<StoredObject> {
    return this.#write({ type: 'delete', key, expectedRevision })
  }

  watch(selector: StoreSelector, fromRevision: number, signal: AbortSignal): AsyncIterable<StoreEvent> {
    return watchFrom({ history: this, hub: this.#hub }, selector, fromRevision, signal)
  }

  async read(selector: StoreSelector, afterRevision: number, limit: number): Promise<HistoryPage> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#back?.promise
        const page = await this.#log.read(selector, afterRevision, limit)
        return { events: eventsOf(page, this.#options.path), revision: page.revision }
      } catch (error) {
        // The end of the watch tells those who watch.
        if (this.#closed) return { events: [], revision: this.#revision }
        // A question to a thread that was lost is put to the next one, but only once.
        if (!this.#back || attempt === 2) throw error
      }
    }
  }

  jsonOf(object: KubernetesObject): string | undefined {
    return this.#written.of(object)
  }

  /** Commits what waits, ends the watches and closes the file. */
  close(): Promise<void> {
    this.#closed ??= this.#shutDown()
    return this.#closed
  }

  async #shutDown(): Promise<void> {
    for (const cancel of this.#cancelTimers.splice(0)) cancel()
    if (!this.#failure) this.#send()
    await this.#log.close()
    this.#refuseAll(new SluiceError('stopping'))
    this.#isBack()
    this.#hub.close()
  }

  /**
   * Everything written in this turn becomes durable together at its end, for callers that write several objects or have
   * more to do first. Resolves when it is time for the last of them: what is written right then, without awaiting
   * anything else, is still included.
   */
  gather(): Promise<void> {
    if (this.#writesOfTurn === 0) this.#awaitEndOfTurn()
    this.#writesOfTurn += 1
    this.#lastCall ??= Promise.withResolvers()
    return this.#lastCall.promise
  }

  #write(request: WriteRequest): Promise<StoredObject> {
    return new Promise((resolve, reject) => {
      // Throwing here rejects the promise.
      if (this.#failure) throw this.#failure
      if (this.#closed) throw new SluiceError('stopping')
      if (this.#waiting.length >= longestQueue || this.#waitingBytes >= largestQueueBytes) {
        throw new SluiceError('store_overloaded', { waiting: this.#waiting.length })
      }
      const outcome = this.#plan(request)
      // A conflict is reported when the write it conflicts with is durable, and no sooner.
      if (!outcome.planned && this.#waiting.length === 0) throw outcome.conflict
      this.#waiting.push({ revision: this.#pending.revision, ...outcome, resolve, reject })
      if (outcome.planned) this.#enqueue(outcome.planned)
    })
  }

  #plan(request: WriteRequest): Pick<Waiting, 'planned' | 'conflict'> {
    try {
      return { planned: this.#pending.plan(request), conflict: undefined }
    } catch (conflict) {
      return { planned: undefined, conflict }
    }
  }

  #enqueue(planned: PlannedWrite): void {
    this.#waitingBytes += planned.text?.length ?? 0
    this.#unsent.push(planned)
    this.#writesOfTurn += 1
    if (this.#writesOfTurn > 1) return
    this.#awaitEndOfTurn()
    // A single client has nobody to share a commit with.
    if (!this.#isBusy) this.#send()
  }

  /** After the turn's I/O callbacks, so that what arrived on many connections in one turn is sent together. */
  #awaitEndOfTurn(): void {
    setImmediate(() => {
      const lastCall = this.#lastCall
      if (!lastCall) return this.#endTurn()
      this.#lastCall = undefined
      lastCall.resolve()
      setImmediate(() => this.#endTurn())
    })
  }

  #endTurn(): void {
    this.#isBusy = this.#writesOfTurn > 1
    this.#writesOfTurn = 0
    this.#send()
  }

  #send(): void {
    const writes = this.#unsent
    if (writes.length === 0) return
    this.#unsent = []
    for (let sent = 0; sent < writes.length; sent += largestBatch) {
      this.#log.append(writes.length > largestBatch ? writes.slice(sent, sent + largestBatch) : writes)
    }
  }

  /** Shows and acknowledges what has become durable. */
  #onDurable(revision: number): void {
    this.#written.forget()
    for (const { event, text } of this.#pending.applyThrough(revision)) {
      this.#revision = event.revision
      if (text !== null) this.#written.hold(event.object, text)
      this.#hub.publish(event, text)
    }
    for (const { planned, conflict, resolve, reject } of this.#takeWaiting(revision)) {
      if (planned) resolve(planned.stored)
      else reject(conflict)
    }
  }

  #takeWaiting(revision: number): readonly Waiting[] {
    const after = this.#waiting.findIndex((waiting) => waiting.revision > revision)
    const taken = after < 0 ? this.#waiting : this.#waiting.slice(0, after)
    this.#waiting = after < 0 ? [] : this.#waiting.slice(after)
    for (const { planned } of taken) this.#waitingBytes -= planned?.text?.length ?? 0
    return taken
  }

  #startThread(isLoaded: boolean): LogThreadClient {
    const { path, historyLimit = 10_000, keepNewest = {}, gate } = this.#options
    return new LogThreadClient({
      thread: this.#thread,
      path,
      historyLimit,
      keepNewest,
      isLoaded,
      gate: gate?.shared,
      onDurable: (revision) => this.#onDurable(revision),
      onFailed: (failure) => this.#stopWriting(failure),
      onLost: (error) => this.#onLost(error),
    })
  }

  /**
   * Whether a failed commit reached the disk cannot be known here, and going on could use a revision twice. Reads go
   * on; a restart reads what is on the disk.
   */
  #stopWriting(failure: SluiceError): void {
    this.#failure = failure
    this.#unsent = []
    this.#refuseAll(failure)
  }

  #refuseAll(error: SluiceError): void {
    for (const { reject } of this.#takeWaiting(Infinity)) reject(error)
  }

  /**
   * What was sent to the thread may or may not be durable: only the file knows. Writes are refused until it has been
   * read.
   */
  #onLost(reason: Error): void {
    const { path, onTrouble } = this.#options
    this.#unsent = []
    this.#back ??= Promise.withResolvers()
    // A new thread does not help if the disk refuses writes, but it helps those who watch the past.
    this.#failure ??= new SluiceError('store_interrupted', { path, reason: reason.message })
    const interrupted = this.#failure
    const cancel = this.#clock.after(outcomeDeadlineMs, () => this.#refuseAll(interrupted))
    this.#cancelTimers.push(cancel)
    onTrouble?.({ type: 'lost', error: reason, againInMs: this.#restartLater() })
  }

  #restartLater(): number {
    const delayMs = this.#delays.next()
    this.#cancelTimers.push(this.#clock.after(delayMs, () => void this.#restart()))
    return delayMs
  }

  async #restart(): Promise<void> {
    if (this.#closed) return
    this.#log = this.#startThread(true)
    try {
      this.#goOn(await this.#log.opened)
    } catch (thrown) {
      const error = asError(thrown)
      if (!this.#closed) this.#options.onTrouble?.({ type: 'not back', error, againInMs: this.#restartLater() })
    }
  }

  /** The file has everything up to the revision: later writes were not made. */
  #goOn(revision: number): void {
    const { path, onTrouble } = this.#options
    for (const cancel of this.#cancelTimers.splice(0)) cancel()
    this.#isBack()
    if (revision < this.#revision || revision > this.#pending.revision) {
      const reason = `it ends at revision ${revision} though ${this.#revision} was acknowledged`
      return this.#stopWriting(new SluiceError('store_corrupt', { path, reason }))
    }
    this.#onDurable(revision)
    this.#pending.dropAfter(revision)
    const notMade = this.#waiting.length
    this.#refuseAll(new SluiceError('store_interrupted', { path, reason: 'the write was not made' }))
    if (this.#failure?.code === 'store_interrupted') this.#failure = undefined
    onTrouble?.({ type: 'back', revision, notMade })
  }

  #isBack(): void {
    this.#back?.resolve()
    this.#back = undefined
  }
}
