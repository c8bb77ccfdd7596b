import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  watch,
  writeSync,
} from 'node:fs'
import type { Clock } from '../foundation/clock.ts'
import type { Logger } from '../foundation/log.ts'
import { markLoop } from '../foundation/loop-marks.ts'
import { formatRecord } from './log-format.ts'
import { logPath, offsetPath, rawPath, rotatedPath } from './log-files.ts'
import type { LogHub } from './log-hub.ts'
import { LogProgress, progressOffset } from './log-progress.ts'

export interface LogLimits {
  /** A log is rotated when it is larger; one older part is kept. */
  readonly logBytes: number
  /** The raw file is emptied when more of it than this has been read. */
  readonly rawBytes: number
  /** A longer line is written in parts. */
  readonly lineBytes: number
}

export const defaultLogLimits: LogLimits = { logBytes: 10 * 2 ** 20, rawBytes: 8 * 2 ** 20, lineBytes: 16 * 2 ** 10 }

export interface LogCollectorOptions {
  readonly folder: string
  readonly attempt: number
  readonly clock: Clock
  readonly log: Logger
  readonly hub: LogHub
  readonly limits?: LogLimits
}

const pollMs = 1000
const chunksPerTurn = 16

/**
 * Moves what a process writes into its log, line by line with times. The process writes to a plain file rather than to a
 * pipe, so that it neither dies nor blocks when this program is killed; the next one reads on from where this one stopped.
 */
export class LogCollector {
  readonly path: string
  readonly #options: LogCollectorOptions
  readonly #limits: LogLimits
  readonly #chunk = Buffer.allocUnsafe(64 * 2 ** 10)
  readonly #rawFd: number
  readonly #progress: LogProgress
  #logFd: number
  #logSize: number
  /** How far the raw file was read, and how far of that is in the log. */
  #offset: number
  #taken: number
  #pending: Buffer = Buffer.alloc(0)
  #scheduled = false
  #closed = false
  #complained = false
  #stopWatching: () => void = () => {}

  constructor(options: LogCollectorOptions) {
    this.#options = options
    this.#limits = options.limits ?? defaultLogLimits
    const { folder, attempt } = options
    mkdirSync(folder, { recursive: true })
    this.path = logPath(folder, attempt)
    this.#rawFd = openSync(rawPath(folder, attempt), 'a+')
    this.#logFd = openSync(this.path, 'a')
    this.#logSize = fstatSync(this.#logFd).size
    const progress = offsetPath(folder, attempt)
    this.#offset = progressOffset(progress, this.#logSize)
    this.#taken = this.#offset
    this.#progress = new LogProgress(progress)
    options.hub.open(this.path)
    this.#watch()
    this.#schedule()
  }

  /** The process is gone: takes what is left, ends an unfinished line, and tells the readers. */
  finish(): void {
    if (this.#closed) return
    while (this.#drain()) continue
    if (this.#pending.length > 0) {
      this.#append([formatRecord(this.#options.clock.now(), 'F', this.#pending)], this.#offset)
    }
    this.close()
    rmSync(rawPath(this.#options.folder, this.#options.attempt), { force: true })
    rmSync(offsetPath(this.#options.folder, this.#options.attempt), { force: true })
  }

  /** Stops collecting; the process may go on writing, and another collector may take over. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#stopWatching()
    closeSync(this.#rawFd)
    closeSync(this.#logFd)
    this.#progress.close()
    this.#options.hub.close(this.path)
  }

  #watch(): void {
    const { folder, attempt, clock } = this.#options
    const watcher = watch(rawPath(folder, attempt), { persistent: false }, () => this.#schedule())
    watcher.on('error', () => {})
    // Not every file system reports changes.
    let cancel = () => {}
    const poll = () => {
      this.#schedule()
      cancel = clock.after(pollMs, poll)
    }
    cancel = clock.after(pollMs, poll)
    this.#stopWatching = () => {
      cancel()
      watcher.close()
    }
  }

  #schedule(): void {
    if (this.#scheduled || this.#closed) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (!this.#closed && this.#drain()) this.#schedule()
    })
  }

  /** Reads a bounded amount. Returns whether there may be more. */
  #drain(): boolean {
    markLoop('log collection', this.path)
    try {
      if (fstatSync(this.#rawFd).size < this.#offset) {
        this.#offset = 0
        this.#taken = 0
      }
      for (let chunks = 0; chunks < chunksPerTurn; chunks += 1) {
        const length = readSync(this.#rawFd, this.#chunk, 0, this.#chunk.length, this.#offset)
        if (length === 0) {
          this.#emptyRawFile()
          return false
        }
        this.#offset += length
        this.#take(Buffer.concat([this.#pending, this.#chunk.subarray(0, length)]))
      }
      return true
    } catch (error) {
      this.#complain(error)
      return false
    }
  }

  #take(data: Buffer): void {
    const now = this.#options.clock.now()
    const records: Buffer[] = []
    let rest = data
    for (;;) {
      const end = rest.indexOf(0x0a)
      if (end >= 0 && end <= this.#limits.lineBytes) {
        records.push(formatRecord(now, 'F', rest.subarray(0, end)))
        rest = rest.subarray(end + 1)
      } else if (rest.length > this.#limits.lineBytes) {
        records.push(formatRecord(now, 'P', rest.subarray(0, this.#limits.lineBytes)))
        rest = rest.subarray(this.#limits.lineBytes)
      } else break
    }
    this.#pending = Buffer.from(rest)
    if (records.length > 0) this.#append(records, this.#offset - this.#pending.length)
  }

  /** `takenUpTo` is where the raw file goes on after these records. */
  #append(records: readonly Buffer[], takenUpTo: number): void {
    try {
      if (this.#logSize >= this.#limits.logBytes) this.#rotate()
      this.#progress.intend(this.#taken, takenUpTo, this.#logSize)
      this.#logSize += writeSync(this.#logFd, Buffer.concat(records))
    } catch (error) {
      // A full disk costs log lines, never the Pod.
      this.#complain(error)
    }
    this.#taken = takenUpTo
    this.#options.hub.appended(this.path)
  }

  #rotate(): void {
    renameSync(this.path, rotatedPath(this.path))
    closeSync(this.#logFd)
    this.#logFd = openSync(this.path, 'a')
    this.#logSize = 0
  }

  /** Called right after a read found nothing more, so that (next to) nothing can be written in between and lost. */
  #emptyRawFile(): void {
    if (this.#offset < this.#limits.rawBytes || this.#pending.length > 0) return
    ftruncateSync(this.#rawFd, 0)
    this.#offset = 0
    this.#taken = 0
    // Killed before this, the next collector sees that the raw file is shorter than what was read of it.
    this.#progress.intend(0, 0, this.#logSize)
  }

  #complain(error: unknown): void {
    if (!this.#complained) this.#options.log.warn({ err: error, path: this.path }, 'log lines are lost')
    this.#complained = true
  }
}
