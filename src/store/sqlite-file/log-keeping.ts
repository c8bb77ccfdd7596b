import { compactionPoint } from '../compaction.ts'
import type { SqliteLog } from './sqlite-log.ts'

/** How many rows are removed at a time: a commit may have to wait that long. */
const revisionsPerPiece = 1_000
const rowsPerPiece = 1_000
/** How many pieces are still done at the end: somebody waits for the program to stop. */
const lastPieces = 2

/**
 * Keeps the file from growing, in pieces between commits: removes history that nobody can ask for any more and objects
 * beyond those that are kept, and makes checkpoints. Which history counts is decided at once; the file follows.
 */
export class LogKeeping {
  readonly #log: SqliteLog
  readonly #historyLimit: number
  #oldestRevision: number

  constructor(log: SqliteLog, historyLimit: number) {
    this.#log = log
    this.#historyLimit = Math.max(1, historyLimit)
    this.#oldestRevision = log.oldestRevision
  }

  /** Whoever watches from before this revision must start afresh. */
  get oldestRevision(): number {
    return this.#oldestRevision
  }

  /**
   * Called after loading, which may have left objects out. Clients that knew them can only learn of it by starting
   * afresh, so no watch may continue across this point.
   */
  loaded(): void {
    this.#oldestRevision = Math.max(this.#oldestRevision, this.#log.oldestRevision)
  }

  /** Called after a write. */
  grown(): void {
    this.#oldestRevision = compactionPoint(this.#log.revision, this.#oldestRevision, this.#historyLimit)
  }

  get hasWork(): boolean {
    return this.#isBehind || this.#log.leftOut !== undefined || this.#log.needsCheckpoint
  }

  step(): void {
    if (this.#log.needsCheckpoint) return this.#log.checkpoint()
    if (this.#isBehind) {
      return this.#log.compact(Math.min(this.#oldestRevision, this.#log.compactedRevision + revisionsPerPiece))
    }
    const { leftOut } = this.#log
    if (leftOut !== undefined) this.#log.removeLeftOut(leftOut, rowsPerPiece)
  }

  /**
   * Called before the file is closed: removes what was said to be forgotten, as far as that is quick. The next start
   * goes on with it.
   */
  finish(): void {
    for (let piece = 0; piece < lastPieces && this.#isBehind; piece += 1) this.step()
  }

  get #isBehind(): boolean {
    return this.#log.compactedRevision < this.#oldestRevision
  }
}
