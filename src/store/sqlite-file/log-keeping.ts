import { compactionPoint } from '../compaction.ts'
import type { SqliteLog } from './sqlite-log.ts'

/** How much is forgotten at a time: a commit may have to wait that long. */
const revisionsPerPiece = 1_000
const rowsPerPiece = 1_000
/** Somebody waits for the end of the program. */
const lastPieces = 2

/**
 * What keeps the file from growing, in pieces between commits: history that nobody can ask for any more, objects of
 * which only the newest are kept, checkpoints. What history there is, is decided at once; the file follows.
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

  /** Who watches from before it is told to begin anew. */
  get oldestRevision(): number {
    return this.#oldestRevision
  }

  /**
   * Objects may have been left out. Who knew them can only be told by beginning anew: no
   * watch may go on over that point.
   */
  loaded(): void {
    this.#oldestRevision = Math.max(this.#oldestRevision, this.#log.oldestRevision)
  }

  /** Something was written. */
  grown(): void {
    this.#oldestRevision = compactionPoint(this.#log.revision, this.#oldestRevision, this.#historyLimit)
  }

  get hasWork(): boolean {
    return this.#isBehind || this.#log.leftOut !== undefined || this.#log.needsCheckpoint
  }

  /** Does one piece of it. */
  step(): void {
    if (this.#log.needsCheckpoint) return this.#log.checkpoint()
    if (this.#isBehind) {
      return this.#log.compact(Math.min(this.#oldestRevision, this.#log.compactedRevision + revisionsPerPiece))
    }
    const { leftOut } = this.#log
    if (leftOut !== undefined) this.#log.removeLeftOut(leftOut, rowsPerPiece)
  }

  /**
   * Before the file is closed: what was said to be forgotten, as far as that is quickly done.
   * The next start goes on with it.
   */
  finish(): void {
    for (let piece = 0; piece < lastPieces && this.#isBehind; piece += 1) this.step()
  }

  get #isBehind(): boolean {
    return this.#log.compactedRevision < this.#oldestRevision
  }
}
