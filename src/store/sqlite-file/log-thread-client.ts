import { SluiceError } from '../../foundation/errors.ts'
import {
  type FlatRows,
  type FromLogThread,
  type HistoryPageMessage,
  type LogThreadData,
  type SentFailure,
  type ToLogThread,
  flatRows,
} from './log-messages.ts'
import type { PlannedWrite } from '../planned-write.ts'
import type { StoreThread, ThreadSeat } from './store-thread.ts'
import { StoreCompacted, type StoreSelector } from '../store.ts'

export interface LogThreadClientOptions extends LogThreadData {
  readonly thread: StoreThread
  /** Every write up to the revision is. */
  readonly onDurable: (revision: number) => void
  /** Nothing can be written any more. */
  readonly onFailed: (failure: SluiceError) => void
  /** The thread ended without being told to. */
  readonly onLost: (error: Error) => void
}

interface Question {
  readonly afterRevision: number
  readonly resolve: (page: HistoryPageMessage) => void
  readonly reject: (error: Error) => void
}

/** So many slices are read ahead while one is decoded. */
const slicesAhead = 2

/** The main thread's side of the thread that owns the file (`log-thread.ts`). Sending to it never waits for a disk. */
export class LogThreadClient {
  readonly #options: LogThreadClientOptions
  readonly #seat: ThreadSeat
  readonly #opened = Promise.withResolvers<number>()
  readonly #ended = Promise.withResolvers<void>()
  readonly #questions = new Map<number, Question>()
  #slices: Array<{ readonly rows: FlatRows; readonly isLast: boolean }> = []
  #onSlice: (() => void) | undefined
  #lastQuestion = 0
  #durable = 0
  #sent = 0
  #isOpening = true
  #isClosing = false
  #failure: SluiceError | undefined

  constructor(options: LogThreadClientOptions) {
    this.#options = options
    const { thread, path, historyLimit, keepNewest, isLoaded, gate } = options
    this.#opened.promise.catch(() => {})
    this.#seat = thread.open(
      { path, historyLimit, keepNewest, isLoaded, gate },
      { hear: (message) => this.#hear(message), lost: (error) => this.#end(error) },
    )
  }

  /** Resolves with the newest revision in the file. Rejects with a coded error. */
  get opened(): Promise<number> {
    return this.#opened.promise
  }

  /** The current objects, in slices; to be called once, before anything is written. */
  async *load(): AsyncGenerator<FlatRows, void> {
    for (let ahead = 0; ahead < slicesAhead; ahead += 1) this.#tell({ type: 'load' })
    for (;;) {
      while (this.#slices.length === 0) {
        if (this.#failure) throw this.#failure
        await new Promise<void>((resolve) => (this.#onSlice = resolve))
      }
      const slice = this.#slices.shift()
      if (!slice || slice.isLast) break
      this.#tell({ type: 'load' })
      yield slice.rows
    }
    this.#isOpening = false
    this.#letGo()
  }

  /** `onDurable` reports when the writes are durable. */
  append(writes: readonly PlannedWrite[]): void {
    const last = writes.at(-1)
    if (!last) return
    if (this.#durable === this.#sent) this.#seat.hold(true)
    this.#sent = last.event.revision
    this.#tell({ type: 'append', ...flatRows(writes) })
  }

  /** Rejects with `StoreCompacted` or a coded error. */
  read(selector: StoreSelector, afterRevision: number, limit: number): Promise<HistoryPageMessage> {
    return new Promise((resolve, reject) => {
      if (this.#failure && this.#isClosing) throw this.#failure
      const id = ++this.#lastQuestion
      this.#questions.set(id, { afterRevision, resolve, reject })
      this.#seat.hold(true)
      this.#tell({ type: 'read', id, selector, afterRevision, limit })
    })
  }

  /** Resolves when everything was appended and reported. */
  async close(): Promise<void> {
    if (!this.#isClosing) {
      this.#isClosing = true
      this.#seat.hold(true)
      this.#tell({ type: 'close' })
    }
    await this.#ended.promise
  }

  #tell(message: ToLogThread): void {
    this.#seat.tell(message)
  }

  #hear(message: FromLogThread): void {
    switch (message.type) {
      case 'opened':
        this.#durable = this.#sent = message.revision
        this.#opened.resolve(message.revision)
        if (this.#options.isLoaded) this.#isOpening = false
        return this.#letGo()
      case 'durable':
        this.#durable = message.revision
        this.#options.onDurable(message.revision)
        return this.#letGo()
      case 'failed':
        return this.#fail(message.failure)
      case 'slice':
        this.#slices.push(message)
        return this.#onSlice?.()
      case 'page':
        return this.#answer(message.id, ({ resolve }) => resolve(message))
      case 'compacted': {
        const { oldestRevision } = message
        return this.#answer(message.id, ({ afterRevision, reject }) =>
          reject(new StoreCompacted(afterRevision, oldestRevision)),
        )
      }
      case 'unreadable': {
        const { code, details } = message.failure
        return this.#answer(message.id, ({ reject }) => reject(new SluiceError(code, details)))
      }
      case 'closed':
        void this.#seat.leave().then(() => this.#end(new Error('its file was closed')))
    }
  }

  #answer(id: number, settle: (question: Question) => void): void {
    const question = this.#questions.get(id)
    this.#questions.delete(id)
    if (question) settle(question)
    this.#letGo()
  }

  #fail({ code, details }: SentFailure): void {
    this.#failure = new SluiceError(code, details)
    this.#opened.reject(this.#failure)
    this.#onSlice?.()
    this.#options.onFailed(this.#failure)
    this.#durable = this.#sent
    this.#letGo()
  }

  /** Lets the program end when the thread has nothing to do. */
  #letGo(): void {
    const isIdle = this.#durable === this.#sent && this.#questions.size === 0
    if (isIdle && !this.#isOpening && !this.#isClosing) this.#seat.hold(false)
  }

  #end(error: Error): void {
    this.#failure ??= new SluiceError('store_interrupted', { path: this.#options.path, reason: error.message })
    const wasLost = !this.#isClosing && !this.#isOpening
    this.#isClosing = true
    this.#opened.reject(this.#failure)
    this.#onSlice?.()
    for (const { reject } of this.#questions.values()) reject(this.#failure)
    this.#questions.clear()
    this.#ended.resolve()
    if (wasLost) this.#options.onLost(error)
  }
}
