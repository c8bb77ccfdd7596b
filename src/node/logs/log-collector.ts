import {
  close,
  closeSync,
  fstat,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  open,
  openSync,
  read,
  readSync,
  write,
} from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { markLoop } from '../../foundation/loop-marks.ts'
import { FileChange } from './file-change.ts'
import { formatLines, formatRecord } from './log-format.ts'
import { logPath, offsetPath, rawPath, rotatedPath } from './log-files.ts'
import type { LogHub } from './log-hub.ts'
import { LogProgress, progressOffset } from './log-progress.ts'
import { LogTurns } from './log-turns.ts'

export interface LogLimits {
  /** A larger log is rotated; one older part is kept. */
  readonly logBytes: number
  /**
   * The raw file is emptied once this much of it was read. If more than this is still unread, the middle is skipped.
   */
  readonly rawBytes: number
  /** Longer lines are written in parts. */
  readonly lineBytes: number
}

export const defaultLogLimits: LogLimits = { logBytes: 10 * 2 ** 20, rawBytes: 8 * 2 ** 20, lineBytes: 16 * 2 ** 10 }

export interface LogCollectorOptions {
  readonly folder: string
  readonly attempt: number
  readonly clock: Clock
  readonly log: Logger
  readonly hub: LogHub
  /** Shared with the collectors of other logs, so that they take turns. */
  readonly turns?: LogTurns
  readonly limits?: LogLimits
}

const statOf = promisify(fstat)
const readFrom = promisify(read)
const writeTo: (fd: number, data: Buffer) => Promise<{ bytesWritten: number }> = promisify(write)
const openFile: (path: string, flags: string) => Promise<number> = promisify(open)
const closeFile = promisify(close)

/** Closed collectors that are still writing, by log path. A new collector of the same log waits for them. */
const lettingGo = new Map<string, Promise<void>>()

/**
 * Moves a process's output into its log, line by line and with times. The process writes to a plain file (the raw file)
 * rather than a pipe, so it neither dies nor blocks when this program is killed; the next run reads on where this one
 * stopped. If a process writes faster than it can be collected, the middle of its output is lost, and the log says how
 * much; the end is never lost, and the disk never fills up.
 */
export class LogCollector {
  readonly path: string
  readonly #options: LogCollectorOptions
  readonly #limits: LogLimits
  readonly #turns: LogTurns
  readonly #change: FileChange
  readonly #turn = () => this.#takeTurn()
  readonly #rawFd: number
  readonly #progress: LogProgress
  readonly #ended = Promise.withResolvers<void>()
  readonly #predecessor: Promise<void> | undefined
  #inTurn: PromiseWithResolvers<void> | undefined
  #caughtUp: PromiseWithResolvers<void> | undefined
  #begun = false
  #logFd: number
  #logSize = 0
  /** The position in the raw file up to which it was read, and up to which it is in the log. */
  #offset = 0
  #taken = 0
  #pending: Buffer = Buffer.alloc(0)
  #ending = false
  #closed = false
  #complained = false

  constructor(options: LogCollectorOptions) {
    this.#options = options
    this.#limits = options.limits ?? defaultLogLimits
    this.#turns = options.turns ?? new LogTurns()
    const { folder, attempt, clock } = options
    mkdirSync(folder, { recursive: true })
    this.path = logPath(folder, attempt)
    this.#predecessor = lettingGo.get(this.path)
    this.#rawFd = openSync(rawPath(folder, attempt), 'a+')
    this.#logFd = openSync(this.path, 'a')
    this.#progress = new LogProgress(offsetPath(folder, attempt))
    this.#change = new FileChange(rawPath(folder, attempt), clock, () => this.#turns.request(this.#turn))
    options.hub.open(this.path)
    this.#turns.request(this.#turn)
  }

  /** Call when the process is gone: collects the rest, ends an unfinished line, and tells the readers. */
  async finish(): Promise<void> {
    if (this.#closed) return
    this.#ending = true
    this.#change.disarm()
    this.#turns.request(this.#turn)
    await this.#ended.promise
    if (this.#closed) return
    this.close()
    await rm(rawPath(this.#options.folder, this.#options.attempt), { force: true })
    await rm(offsetPath(this.#options.folder, this.#options.attempt), { force: true })
  }

  /** Stops collecting. The process may go on writing, and another collector may take over. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#change.disarm()
    this.#options.hub.close(this.path)
    this.#ended.resolve()
    if (this.#inTurn) lettingGo.set(this.path, this.#inTurn.promise)
    else this.#closeFiles()
  }

  /** Resolves when everything written so far has been collected. */
  async caughtUp(): Promise<void> {
    if (this.#closed) return
    this.#caughtUp ??= Promise.withResolvers<void>()
    this.#change.disarm()
    this.#turns.request(this.#turn)
    await this.#caughtUp.promise
  }

  async #takeTurn(): Promise<boolean> {
    if (this.#closed) return false
    const turn = Promise.withResolvers<void>()
    this.#inTurn = turn
    // Only a turn that begins after the process has ended is sure to see its last output.
    const ending = this.#ending
    let more = false
    try {
      if (!this.#begun) await this.#begin()
      more = await this.#collect(ending)
    } catch (error) {
      this.#complain(error)
      if (!this.#closed && !ending) this.#change.arm()
    }
    this.#inTurn = undefined
    if (this.#closed) {
      this.#closeFiles()
      if (lettingGo.get(this.path) === turn.promise) lettingGo.delete(this.path)
    } else if (ending && !more) this.#ended.resolve()
    turn.resolve()
    if (!more || this.#closed) {
      this.#caughtUp?.resolve()
      this.#caughtUp = undefined
    }
    return more && !this.#closed
  }

  async #begin(): Promise<void> {
    await this.#predecessor
    const { folder, attempt } = this.#options
    this.#logSize = (await statOf(this.#logFd)).size
    this.#offset = progressOffset(offsetPath(folder, attempt), this.#logSize)
    this.#taken = this.#offset
    this.#begun = true
  }

  /** Collects a bounded amount. Returns whether there may be more. */
  async #collect(ending: boolean): Promise<boolean> {
    const { size } = await statOf(this.#rawFd)
    if (size < this.#offset) {
      this.#offset = 0
      this.#taken = 0
    }
    const { chunk } = this.#turns
    if (size - this.#offset > Math.max(this.#limits.rawBytes, chunk.length)) return this.#passOver(size, ending)
    const length =
      size === this.#offset ? 0 : (await readFrom(this.#rawFd, chunk, 0, chunk.length, this.#offset)).bytesRead
    if (length > 0) {
      this.#offset += length
      await this.#take(chunk.subarray(0, length))
      return true
    }
    if (this.#closed) return false
    if (ending) await this.#endLine()
    else if (!this.#change.isArmed) {
      await this.#emptyRawFile()
      // Armed before the last look, so that anything written afterwards is reported.
      this.#change.arm()
      return true
    }
    return false
  }

  async #take(data: Buffer): Promise<void> {
    markLoop('log collection', this.path)
    this.#options.hub.said(this.path, data)
    const whole = this.#pending.length > 0 ? Buffer.concat([this.#pending, data]) : data
    const { records, rest } = formatLines(this.#options.clock.now(), whole, this.#limits.lineBytes)
    this.#pending = Buffer.from(rest)
    if (records.length > 0) await this.#append(records, Math.max(0, this.#offset - rest.length))
  }

  /** More was written than can be kept: skips to near the end, and notes that in the log. */
  async #passOver(size: number, ending: boolean): Promise<boolean> {
    const keptBytes = ending ? this.#limits.rawBytes : this.#turns.chunk.length
    let dropped = size - keptBytes - this.#offset
    let end: Buffer = Buffer.alloc(0)
    if (ending) this.#offset = size - keptBytes
    else {
      // Synchronously: output written between reading and truncating would be lost without a trace.
      const { size: sizeNow } = fstatSync(this.#rawFd)
      const { chunk } = this.#turns
      end = chunk.subarray(0, readSync(this.#rawFd, chunk, 0, chunk.length, Math.max(0, sizeNow - chunk.length)))
      ftruncateSync(this.#rawFd, 0)
      dropped += sizeNow - size
      this.#offset = 0
      this.#taken = 0
    }
    await this.#endLine()
    const note = `... ${dropped} bytes dropped: more was written than could be collected ...`
    await this.#append(formatRecord(this.#options.clock.now(), 'F', Buffer.from(note)), this.#offset)
    if (end.length > 0) await this.#take(end)
    return true
  }

  async #endLine(): Promise<void> {
    if (this.#pending.length === 0) return
    const record = formatRecord(this.#options.clock.now(), 'F', this.#pending)
    this.#pending = Buffer.alloc(0)
    await this.#append(record, this.#offset)
  }

  /** `takenUpTo` is the position in the raw file after these records. */
  async #append(records: Buffer, takenUpTo: number): Promise<void> {
    try {
      if (this.#logSize >= this.#limits.logBytes) await this.#rotate()
      await this.#progress.intend(this.#taken, takenUpTo, this.#logSize)
      this.#logSize += (await writeTo(this.#logFd, records)).bytesWritten
    } catch (error) {
      // A full disk loses log lines, but must never harm the Pod.
      this.#complain(error)
    }
    this.#taken = takenUpTo
    this.#options.hub.appended(this.path)
  }

  async #rotate(): Promise<void> {
    await rename(this.path, rotatedPath(this.path))
    const before = this.#logFd
    this.#logFd = await openFile(this.path, 'a')
    this.#logSize = 0
    await closeFile(before)
  }

  /**
   * Truncates the raw file now and then, synchronously after a last look, so that next to nothing can be written in
   * between and get lost.
   */
  async #emptyRawFile(): Promise<void> {
    if (this.#offset < this.#limits.rawBytes || this.#pending.length > 0) return
    if (fstatSync(this.#rawFd).size !== this.#offset) return
    ftruncateSync(this.#rawFd, 0)
    this.#offset = 0
    this.#taken = 0
    // If this does not reach the disk, the next collector sees that the raw file is shorter than the recorded position.
    await this.#progress.intend(0, 0, this.#logSize)
  }

  #closeFiles(): void {
    closeSync(this.#rawFd)
    closeSync(this.#logFd)
    this.#progress.close()
  }

  #complain(error: unknown): void {
    if (!this.#complained) this.#options.log.warn({ err: error, path: this.path }, 'log lines are lost')
    this.#complained = true
  }
}
