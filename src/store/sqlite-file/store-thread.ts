import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { SluiceError, asError } from '../../foundation/errors.ts'
import type { CopyAnswer, CopyFile, FromLogThread, LogThreadData, OpenFile, ToLogThread } from './log-messages.ts'

/** Beside this file, compiled or not. */
const program = new URL(`log-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
/**
 * With what was compiled at an earlier start: Node's compiler of types takes 16 MB in a thread,
 * and most of the time to start it.
 */
const startText = `require('node:module').enableCompileCache(${compiledPlace()}); import(${JSON.stringify(program.href)})`
/** A commit has a few megabytes of texts at most, and they die at once. */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64, stackSizeMb: 1 }

/** What the user of a file hears of the thread that has it. */
export interface ThreadListener {
  hear(message: FromLogThread): void
  /** The thread ended though nobody told it to. */
  lost(error: Error): void
}

/** A file's place in the thread. */
export interface ThreadSeat {
  tell(message: ToLogThread): void
  /** Whether the program is to go on as long as this file is used. */
  hold(isNeeded: boolean): void
  /** The file is closed. Resolves when the thread has ended, too, where nobody else uses it. */
  leave(): Promise<void>
}

/**
 * A thread for the files of one store or of several: most of what a thread takes is there once, and files of one
 * machine wait for the same disk. One that was lost is begun anew by whoever comes next.
 */
export class StoreThread {
  #running: RunningThread | undefined

  open(data: LogThreadData, listener: ThreadListener): ThreadSeat {
    if (this.#running?.isOver !== false) this.#running = new RunningThread()
    return this.#running.open(data, listener)
  }

  /** Copies a file while it is in use. It takes what is durable by then, and perhaps whole commits that come later. */
  copy(from: string, to: string): Promise<void> {
    if (this.#running?.isOver !== false) {
      return Promise.reject(new SluiceError('store_unavailable', { path: from, reason: 'no file is open' }))
    }
    return this.#running.copy(from, to)
  }
}

class RunningThread {
  readonly #worker: Worker
  readonly #listeners = new Map<MessagePort, ThreadListener>()
  readonly #ended = Promise.withResolvers<void>()
  #error: Error | undefined
  /** It has ended, or was told to. */
  isOver = false

  constructor() {
    // Flags of the program, such as how its own text is to be read, are not meant for the thread's.
    this.#worker = new Worker(startText, { eval: true, execArgv: [], name: 'store', resourceLimits })
    // Its files say whether the program is to wait for it.
    this.#worker.unref()
    this.#worker.on('error', (error) => (this.#error = asError(error)))
    this.#worker.on('exit', (code) => this.#end(code))
  }

  open(data: LogThreadData, listener: ThreadListener): ThreadSeat {
    const { port1: port, port2: other } = new MessageChannel()
    this.#listeners.set(port, listener)
    port.on('message', (message: FromLogThread) => listener.hear(message))
    const opening: OpenFile = { data, port: other }
    this.#worker.postMessage(opening, [other])
    return {
      tell: (message) => port.postMessage(message, []),
      hold: (isNeeded) => (isNeeded ? port.ref() : port.unref()),
      leave: () => this.#leave(port),
    }
  }

  copy(from: string, to: string): Promise<void> {
    const { port1: port, port2: other } = new MessageChannel()
    const copying: CopyFile = { from, to, port: other }
    return new Promise((resolve, reject) => {
      // The port is closed without an answer when the thread ends.
      port.on('close', () =>
        reject(new SluiceError('store_unavailable', { path: from, reason: 'the store was closed meanwhile' })),
      )
      port.on('message', (failure: CopyAnswer) => {
        if (failure) reject(new SluiceError(failure.code, failure.details))
        else resolve()
        port.close()
      })
      this.#worker.postMessage(copying, [other])
    })
  }

  async #leave(port: MessagePort): Promise<void> {
    this.#listeners.delete(port)
    port.close()
    if (this.#listeners.size > 0) return
    if (!this.isOver) this.#worker.postMessage(undefined, [])
    this.isOver = true
    this.#worker.ref()
    await this.#ended.promise
  }

  #end(code: number): void {
    this.isOver = true
    this.#ended.resolve()
    const error = this.#error ?? new Error(`its thread ended with ${code}`)
    const lost = [...this.#listeners]
    this.#listeners.clear()
    for (const [port, listener] of lost) {
      port.close()
      listener.lost(error)
    }
  }
}

/** The same place as this thread's; Node's own choice where it has none. */
function compiledPlace(): string {
  const compiled = getCompileCacheDir()
  return compiled === undefined ? '' : JSON.stringify(dirname(compiled))
}
