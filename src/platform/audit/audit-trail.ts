import { closeSync, openSync, readSync, rename, rmSync, statSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Audit, AuditEvent } from '../../apiserver/audit/audit-event.ts'
import { TokenBucket } from '../../cluster/pace/token-bucket.ts'
import type { CancelTimer, Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import { LineFile } from '../data/line-file.ts'
import { mostOlderAuditFiles, olderAuditFile } from './audit-files.ts'

export interface AuditTrailOptions {
  readonly path: string
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** When the file has grown to this size, it is moved aside. */
  readonly fileBytes?: number | undefined
  /** How many of those are kept, at least one. */
  readonly olderFiles?: number | undefined
}

export const defaultAuditLog = { fileBytes: 32 * 1024 * 1024, olderFiles: 3 }
const flushAfterMs = 200
const moveAgainAfterMs = 10_000
/** How often the log tells of dropped lines, all of this time together. */
const lossEveryMs = 60_000
/** Limits requests of unknown users, so that they cannot push everybody else's lines out of the files. */
const strangerLimits = { burst: 100, refillMs: 100 }

type Loss = 'disk' | 'strangers'

/**
 * The audit log: every request to this program's control planes that changes something. Requests never wait for it.
 * Lines are collected and written in the background; what cannot be written is dropped, counted and reported.
 */
export class AuditTrail implements Component {
  readonly name = 'audit trail'
  readonly #options: AuditTrailOptions
  readonly #file: LineFile
  readonly #strangers = new TokenBucket(strangerLimits)
  readonly #written: () => void
  readonly #lost: (loss: Loss, lines: number) => void
  #bytes: number
  #moving = false
  #cancelFlush: CancelTimer | undefined
  #lossUntold = 0
  #cancelTelling: CancelTimer | undefined

  constructor(options: AuditTrailOptions) {
    this.#options = options
    const { metrics, path } = options
    const written = metrics.heldCounter('sluice_audit_lines_total', 'Lines of the audit log.', []).series()
    this.#written = () => written.add()
    const help =
      'Audit lines that were left out, by why: the disk was full or behind, or too many strangers were refused.'
    const lost = metrics.heldCounter('sluice_audit_lines_lost_total', help, ['reason'])
    for (const reason of ['disk', 'strangers']) lost.series(reason).add(0)
    this.#lost = (loss, lines) => {
      lost.series(loss).add(lines)
      this.#tellLoss(lines)
    }
    this.#file = new LineFile(path, (lines) => this.#lost('disk', lines))
    this.#bytes = statSync(path).size
    if (this.#bytes > 0 && !endsALine(path, this.#bytes)) this.#append('\n')
    this.#removeSurplus()
    process.once('exit', this.#close)
  }

  readonly write: Audit = (event) => {
    if (isStranger(event) && !this.#strangers.take(this.#options.clock.now())) return this.#lost('strangers', 1)
    const { fileBytes = defaultAuditLog.fileBytes } = this.#options
    // The file could not be moved aside. Dropping lines is better than filling the disk.
    if (this.#bytes >= 2 * fileBytes) this.#lost('disk', 1)
    else this.#writeEvent(event)
    if (this.#bytes >= fileBytes && !this.#moving) void this.#moveAside()
  }

  stop(): void {
    process.off('exit', this.#close)
    this.#cancelFlush?.()
    this.#cancelTelling?.()
    if (this.#lossUntold > 0) this.#sayLoss()
    this.#file.close()
  }

  readonly #close = () => this.#file.close()

  #writeEvent(event: AuditEvent): void {
    this.#append(`${JSON.stringify(event)}\n`)
    this.#written()
  }

  #append(line: string): void {
    this.#file.write(line)
    this.#bytes += Buffer.byteLength(line)
    this.#cancelFlush ??= this.#options.clock.after(flushAfterMs, () => {
      this.#cancelFlush = undefined
      this.#file.flush()
    })
  }

  /** Renames every older file to the next age; the oldest is removed. */
  async #moveAside(): Promise<void> {
    const { path, clock, log, olderFiles = defaultAuditLog.olderFiles } = this.#options
    this.#moving = true
    try {
      for (let age = olderFiles - 1; age > 0; age -= 1) {
        await move(olderAuditFile(path, age), olderAuditFile(path, age + 1))
      }
      await move(path, olderAuditFile(path, 1))
      this.#bytes = 0
      this.#file.reopen()
      this.#moving = false
    } catch (error) {
      log.error({ err: error, path }, 'the audit log cannot be moved aside')
      clock.after(moveAgainAfterMs, () => (this.#moving = false))
    }
  }

  /** Of a run that was to keep more. */
  #removeSurplus(): void {
    const { path, olderFiles = defaultAuditLog.olderFiles } = this.#options
    for (let age = olderFiles + 1; age <= mostOlderAuditFiles; age += 1)
      rmSync(olderAuditFile(path, age), { force: true })
  }

  #tellLoss(lines: number): void {
    this.#lossUntold += lines
    this.#cancelTelling ??= this.#options.clock.after(lossEveryMs, () => this.#sayLoss())
  }

  #sayLoss(): void {
    this.#cancelTelling = undefined
    this.#options.log.warn({ lines: this.#lossUntold }, 'audit lines were left out')
    this.#lossUntold = 0
  }
}

/** A line is incomplete if the program was killed, or the disk was full, while it was written. */
function endsALine(path: string, bytes: number): boolean {
  const fd = openSync(path, 'r')
  try {
    const last = Buffer.alloc(1)
    readSync(fd, last, 0, 1, bytes - 1)
    return last.toString() === '\n'
  } finally {
    closeSync(fd)
  }
}

async function move(from: string, to: string): Promise<void> {
  try {
    await promisify(rename)(from, to)
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (!isMissing) throw error
  }
}

function isStranger({ user }: AuditEvent): boolean {
  return user.username === undefined || user.username === 'system:anonymous'
}
