import { closeSync, fstatSync, openSync, writeSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { SluiceError } from '../../foundation/errors.ts'
import { type FlatRows, fieldsOfRow } from './log-messages.ts'
import { type LogRow, readLogRow } from './log-row.ts'
import { storeFailure } from './sqlite-failure.ts'
import { copyDatabase } from './copy-database.ts'
import { migrate } from './sqlite-schema.ts'
import type { StepGate } from './step-gate.ts'
import type { StoreSelector } from '../store.ts'

/** SQLite's number for FULL. */
const fullSynchronous = 2
const pageBytes = 4096
const pagesPerCheckpoint = 4000
/** With fewer writes, reserving is not worth the space. */
const writesBeforeReserve = 256
/** How many rows are read at a time, for a start or a watch: others wait that long. */
const sliceRows = 256
const sliceBytes = 512 * 1024

const columns = 'log.revision, log.type, log.resource, log.namespace, log.name, log.previous, log.object'

export interface HistorySlice {
  readonly rows: FlatRows
  /** For each row, the object that it replaced. */
  readonly previous: ReadonlyArray<string | null>
}

/** The current objects, in slices. */
export type LoadSlices = Generator<FlatRows, void>

/** What no longer counts of a resource: rows before a revision, and where history begins because of it. */
interface LeftOut {
  readonly before: number
  readonly floor: number
}

/**
 * The file: a log of writes in SQLite. All SQL is here, and everything it throws is a coded error. Only the thread that
 * owns the file uses it, so everything here may wait for the disk.
 */
export class SqliteLog {
  readonly #path: string
  readonly #database: DatabaseSync
  readonly #gate: StepGate | undefined
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #insert: StatementSync
  readonly #replay: StatementSync
  /** By resource, what is in the file but no longer counts. */
  readonly #leftOut: Map<string, LeftOut>
  #revision: number
  #compactedRevision: number
  #written = 0
  #reserved = false
  /** An upper bound for the length of the write-ahead log. */
  #pagesInLog = 0

  private constructor(path: string, database: DatabaseSync, gate: StepGate | undefined) {
    this.#path = path
    this.#database = database
    this.#gate = gate
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#insert = database.prepare(
      'INSERT INTO log (revision, type, resource, namespace, name, previous, object) VALUES (?, ?, ?, ?, ?, ?, ?)',
    )
    this.#replay = database.prepare(
      `SELECT ${columns}, before.object AS previousObject
       FROM log LEFT JOIN log AS before ON before.revision = log.previous
       WHERE log.resource = ?1 AND log.revision > ?2 AND (?3 IS NULL OR log.namespace = ?3)
       ORDER BY log.revision LIMIT ?4`,
    )
    this.#compactedRevision = Number(database.prepare('SELECT revision FROM compaction').get()?.['revision'])
    const newest = Number(database.prepare('SELECT max(revision) AS newest FROM log').get()?.['newest'] ?? 0)
    this.#revision = Math.max(newest, this.#compactedRevision)
    this.#leftOut = new Map(
      database
        .prepare('SELECT resource, before, floor FROM left_out')
        .all()
        .map(({ resource, before, floor }) => [String(resource), { before: Number(before), floor: Number(floor) }]),
    )
  }

  static open(path: string, gate?: StepGate): SqliteLog {
    let database: DatabaseSync | undefined
    try {
      // The file contains Secrets. SQLite gives the files beside it the same mode.
      closeSync(openSync(path, 'a', 0o600))
      database = new DatabaseSync(path)
      // EXCLUSIVE: one process owns the file, and no other can write behind its cache. FULL: the log is synced before a
      // commit returns, so that acknowledged writes survive a power cut.
      database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
      refuseForgetful(database, path)
      // Checkpoints are made between commits, see `checkpoint`; SQLite's own, within a commit, only if those fall
      // behind. After a burst the log shrinks again.
      database.exec(`PRAGMA wal_autocheckpoint = ${2 * pagesPerCheckpoint}; PRAGMA journal_size_limit = 67108864`)
      const check = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check']
      if (check !== 'ok') throw new SluiceError('store_corrupt', { path, reason: String(check) })
      migrate(database, path)
      return new SqliteLog(path, database, gate)
    } catch (error) {
      database?.close()
      throw storeFailure(error, path)
    }
  }

  /**
   * Copies the file while others go on writing to it. What is durable when the copy is begun is in it, and whole
   * commits after that.
   */
  copyTo(path: string): Promise<void> {
    return copyDatabase(this.#database, path)
  }

  /** The newest durable revision. */
  get revision(): number {
    return this.#revision
  }

  /** History before this revision is gone from the file. */
  get compactedRevision(): number {
    return this.#compactedRevision
  }

  /** History before this revision no longer counts. */
  get oldestRevision(): number {
    const floors = [...this.#leftOut.values()].map(({ floor }) => floor)
    return Math.max(this.#compactedRevision, ...floors)
  }

  /** A resource that has rows which no longer count. */
  get leftOut(): string | undefined {
    return this.#leftOut.keys().next().value
  }

  /**
   * The current objects, newest first within each resource; of some resources only the newest so many, and the others
   * no longer count from then on. Because rows are read newest first, a row is current if none that was read before has
   * replaced it, so that only row numbers have to be held.
   */
  *load(keepNewest: Readonly<Record<string, number>>): LoadSlices {
    const slice = new Slice()
    const sql = `SELECT ${columns} FROM log WHERE resource = ? AND revision >= ? ORDER BY revision DESC`
    const ofResource = this.#prepare(sql)
    for (const resource of this.#resources()) {
      const most = keepNewest[resource] ?? Infinity
      const replaced = new Set<number>()
      let kept = 0
      let before = 0
      for (const raw of this.#rows(ofResource, resource, this.#leftOut.get(resource)?.before ?? 0)) {
        const row = this.#read(raw)
        if (row.previous > 0) replaced.add(row.previous)
        if (replaced.delete(row.revision) || row.type === 'deleted') continue
        if (kept >= most) {
          before = row.revision + 1
          break
        }
        kept += 1
        slice.add(row)
        if (slice.isFull) yield slice.take()
      }
      if (before > 0) this.#leaveOut(resource, before)
    }
    yield slice.take()
  }

  /** Writes all rows durably, or none. */
  append(rows: FlatRows, bytes: number): void {
    const writes = rows.length / fieldsOfRow
    this.#written += writes
    if (!this.#reserved && this.#written > writesBeforeReserve) this.#reserve()
    this.#transaction(() => {
      for (let at = 0; at < rows.length; at += fieldsOfRow) this.#insert.run(...rows.slice(at, at + fieldsOfRow))
      this.#gate?.pass('inserted')
    })
    this.#revision = Number(rows[rows.length - fieldsOfRow])
    this.#pagesInLog += pagesOf(writes, bytes)
  }

  /** Forgets history up to the revision, which must not be far after the last such call; current objects stay. */
  compact(revision: number): void {
    const from = this.#compactedRevision
    this.#transaction(() => {
      const range = 'revision > ?1 AND revision <= ?2'
      this.#database
        .prepare(`DELETE FROM log WHERE revision IN (SELECT previous FROM log WHERE ${range} AND previous > 0)`)
        .run(from, revision)
      this.#database.prepare(`DELETE FROM log WHERE ${range} AND type = 'deleted'`).run(from, revision)
      this.#database.prepare('UPDATE compaction SET revision = ?').run(revision)
    })
    this.#compactedRevision = revision
    this.#pagesInLog += pagesOf(revision - from, 0)
  }

  /** Removes some of the rows that no longer count. History must have been forgotten up to the end of those rows. */
  removeLeftOut(resource: string, limit: number): void {
    let removed = 0
    this.#transaction(() => {
      const rows = 'SELECT revision FROM log WHERE resource = ? AND revision < ? ORDER BY revision LIMIT ?'
      const statement = this.#database.prepare(`DELETE FROM log WHERE revision IN (${rows})`)
      removed = Number(statement.run(resource, this.#leftOut.get(resource)?.before ?? 0, limit).changes)
      if (removed < limit) this.#database.prepare('DELETE FROM left_out WHERE resource = ?').run(resource)
    })
    if (removed < limit) this.#leftOut.delete(resource)
    this.#pagesInLog += pagesOf(removed, 0)
  }

  /** Up to `limit` writes after the revision, oldest first; fewer if they are large. */
  read({ resource, namespace }: StoreSelector, afterRevision: number, limit: number): HistorySlice {
    const slice = new Slice()
    const previous: Array<string | null> = []
    for (const raw of this.#rows(
      this.#replay,
      resource,
      afterRevision,
      namespace ?? null,
      Math.min(limit, sliceRows),
    )) {
      const row = this.#read(raw)
      slice.add(row)
      previous.push(row.previousObject)
      if (slice.isFull) break
    }
    return { rows: slice.take(), previous }
  }

  /** Whether the log is long enough to be written into the file. */
  get needsCheckpoint(): boolean {
    return this.#pagesInLog > pagesPerCheckpoint
  }

  /** Costs two more syncs, so it is done after many commits, and between them. */
  checkpoint(): void {
    this.#guard(() => this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)'))
    this.#pagesInLog = 0
  }

  close(): void {
    this.#guard(() => this.#database.close())
  }

  /**
   * Extends the log to its usual length once: syncing bytes in place is several times cheaper than also extending the
   * file. SQLite ignores zeros after the last commit and never looks at the file's length.
   */
  #reserve(): void {
    this.#reserved = true
    const reserved = Buffer.alloc(pagesPerCheckpoint * (pageBytes + 24) + pageBytes)
    try {
      const file = openSync(`${this.#path}-wal`, 'r+')
      try {
        const { size } = fstatSync(file)
        if (size < reserved.length) writeSync(file, reserved, 0, reserved.length - size, size)
      } finally {
        closeSync(file)
      }
    } catch {
      // A disk without that much room: commits go on, each extending the file, as long as there is any.
    }
  }

  #transaction(act: () => void): void {
    try {
      this.#begin.run()
      act()
      this.#commit.run()
    } catch (error) {
      // After some failures SQLite has already rolled back.
      if (this.#database.isTransaction) this.#guard(() => this.#database.exec('ROLLBACK'))
      throw storeFailure(error, this.#path)
    }
  }

  #guard<R>(act: () => R): R {
    try {
      return act()
    } catch (error) {
      throw storeFailure(error, this.#path)
    }
  }

  /**
   * Made durable before anybody is told what there is: another start must not bring back objects that nobody could
   * delete.
   */
  #leaveOut(resource: string, before: number): void {
    const leftOut = { before, floor: this.#revision }
    this.#transaction(() => {
      const sql = 'INSERT OR REPLACE INTO left_out (resource, before, floor) VALUES (?, ?, ?)'
      this.#database.prepare(sql).run(resource, leftOut.before, leftOut.floor)
    })
    this.#leftOut.set(resource, leftOut)
  }

  #prepare(sql: string): StatementSync {
    return this.#guard(() => this.#database.prepare(sql))
  }

  /** The resources that have rows, found one after the other by the index. */
  #resources(): readonly string[] {
    const next = this.#prepare('SELECT resource FROM log WHERE resource > ? ORDER BY resource LIMIT 1')
    const resources: string[] = []
    for (let last = ''; ;) {
      const found = this.#guard(() => next.get(last))?.['resource']
      if (typeof found !== 'string') return resources
      resources.push((last = found))
    }
  }

  *#rows(statement: StatementSync, ...parameters: ReadonlyArray<string | number | null>) {
    try {
      yield* statement.iterate(...parameters)
    } catch (error) {
      throw storeFailure(error, this.#path)
    }
  }

  #read(raw: Record<string, unknown>): LogRow {
    try {
      return readLogRow(raw)
    } catch (error) {
      throw new SluiceError('store_corrupt', { path: this.#path, reason: String(error) }, { cause: error })
    }
  }
}

/** When the file system does not support a mode, SQLite silently uses another. */
function refuseForgetful(database: DatabaseSync, path: string): void {
  const journal = database.prepare('PRAGMA journal_mode').get()?.['journal_mode']
  const synchronous = database.prepare('PRAGMA synchronous').get()?.['synchronous']
  if (journal === 'wal' && synchronous === fullSynchronous) return
  const reason = `durable writes are not possible here (journal ${String(journal)}, synchronous ${String(synchronous)})`
  throw new SluiceError('store_unavailable', { path, reason })
}

/** How many pages a commit changes, estimated high. */
function pagesOf(rows: number, bytes: number): number {
  return 3 + Math.ceil(rows / 4) + Math.ceil(bytes / 3000)
}

/** Rows that are sent together. */
class Slice {
  #rows: Array<string | number | null> = []
  #bytes = 0

  get isFull(): boolean {
    return this.#bytes >= sliceBytes || this.#rows.length >= sliceRows * fieldsOfRow
  }

  add({ revision, type, resource, namespace, name, previous, object, previousObject }: LogRow): void {
    this.#rows.push(revision, type, resource, namespace, name, previous, object)
    this.#bytes += (object?.length ?? 0) + (previousObject?.length ?? 0)
  }

  take(): FlatRows {
    const rows = this.#rows
    this.#rows = []
    this.#bytes = 0
    return rows
  }
}
