import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { SluiceError, asError } from '../../foundation/errors.ts'
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
import { StoreCompacted, type StoreSelector } from '../store.ts'

export interface LogThreadClientOptions extends LogThreadData {
  /** Every write up to the revision is durable. */
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

/** The program beside this file, compiled or not. */
const program = new URL(`log-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
/**
 * Starts the thread with the code cache of an earlier start: Node's TypeScript compiler takes 16 MB in a thread, and
 * most of the time to start it.
 */
const startText = `require('node:module').enableCompileCache(${compiledPlace()}); import(${JSON.stringify(program.href)})`
/** A commit has a few megabytes of texts at most, which are garbage right after. */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64, stackSizeMb: 1 }
/** How many slices are read ahead while one is decoded. */
const slicesAhead = 2

/** The main thread's side of the thread that owns the file (`log-thread.ts`). Sending to it never waits for a disk. */
export class LogThreadClient {
  readonly #options: LogThreadClientOptions
  readonly #thread: Worker
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
  #error: Error | undefined

  constructor(options: LogThreadClientOptions) {
    this.#options = options
    const { path, historyLimit, keepNewest, isLoaded, gate } = options
    const data: LogThreadData = { path, historyLimit, keepNewest, isLoaded, gate }
    // The program's own flags, such as those about reading its source, are not for the thread.
    const start = { eval: true, execArgv: [], name: 'store' }
    this.#thread = new Worker(startText, { ...start, workerData: data, resourceLimits })
    this.#opened.promise.catch(() => {})
    this.#thread.on('message', (message: FromLogThread) => this.#hear(message))
    this.#thread.on('error', (error) => (this.#error = asError(error)))
    this.#thread.on('exit', (code) => this.#end(code))
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
    if (this.#durable === this.#sent) this.#thread.ref()
    this.#sent = last.event.revision
    this.#tell({ type: 'append', ...flatRows(writes) })
  }

  /** Rejects with `StoreCompacted` or a coded error. */
  read(selector: StoreSelector, afterRevision: number, limit: number): Promise<HistoryPageMessage> {
    return new Promise((resolve, reject) => {
      if (this.#failure && this.#isClosing) throw this.#failure
      const id = ++this.#lastQuestion
      this.#questions.set(id, { afterRevision, resolve, reject })
      this.#thread.ref()
      this.#tell({ type: 'read', id, selector, afterRevision, limit })
    })
  }

  /** Resolves when everything was appended and reported. */
  async close(): Promise<void> {
    if (!this.#isClosing) {
      this.#isClosing = true
      this.#thread.ref()
      this.#tell({ type: 'close' })
    }
    await this.#ended.promise
  }

  #tell(message: ToLogThread): void {
    this.#thread.postMessage(message, [])
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
    if (isIdle && !this.#isOpening && !this.#isClosing) this.#thread.unref()
  }

  #end(code: number): void {
    const error = this.#error ?? new Error(`its thread ended with ${code}`)
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

/** The same cache folder as this thread's; Node's default where it has none. */
function compiledPlace(): string {
  const compiled = getCompileCacheDir()
  return compiled === undefined ? '' : JSON.stringify(dirname(compiled))
}
