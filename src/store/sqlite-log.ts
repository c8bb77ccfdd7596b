import { closeSync, fstatSync, openSync, writeSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { SluiceError } from '../foundation/errors.ts'
import { storeFailure } from './sqlite-failure.ts'
import { type LogRow, readLogRow } from './log-row.ts'
import { migrate } from './sqlite-schema.ts'
import { StoreCompacted, type StoreEvent, type StoreSelector, type StoredObject } from './store.ts'
import { decodeObject, withRevision } from './stored-json.ts'
import type { StoreHistory } from './watch-from.ts'
import type { PlannedWrite } from './write-batch.ts'

/** SQLite's number for it. */
const fullSynchronous = 2
const pageBytes = 4096
const pagesPerCheckpoint = 4000
/** Before this many writes it is not worth the space. */
const writesBeforeReserve = 256

const columns = 'log.revision, log.type, log.resource, log.namespace, log.name, log.previous, log.object'

/** The file: a log of writes in SQLite. Everything that knows SQL is here; what it throws are coded errors. */
export class SqliteLog implements StoreHistory {
  readonly #path: string
  readonly #database: DatabaseSync
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #insert: StatementSync
  readonly #replay: StatementSync
  #compactedRevision: number
  #written = 0
  #reserved = false

  private constructor(path: string, database: DatabaseSync) {
    this.#path = path
    this.#database = database
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
  }

  static open(path: string): SqliteLog {
    let database: DatabaseSync | undefined
    try {
      // Secrets are in it. SQLite gives the files beside it the same mode.
      closeSync(openSync(path, 'a', 0o600))
      database = new DatabaseSync(path)
      // Exclusive: one process owns the file, and no other can write behind its cache. FULL: the log is synced before a
      // commit returns, so what was acknowledged survives a power cut.
      database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
      refuseForgetful(database, path)
      // A checkpoint costs two more syncs, so it comes after many commits. After a burst the log shrinks again.
      database.exec(`PRAGMA wal_autocheckpoint = ${pagesPerCheckpoint}; PRAGMA journal_size_limit = 67108864`)
      const check = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check']
      if (check !== 'ok') throw new SluiceError('store_corrupt', { path, reason: String(check) })
      migrate(database, path)
      return new SqliteLog(path, database)
    } catch (error) {
      database?.close()
      throw storeFailure(error, path)
    }
  }

  get compactedRevision(): number {
    return this.#compactedRevision
  }

  /** What is there now, out of the log, and the newest revision. */
  load(): { readonly objects: readonly StoredObject[]; readonly revision: number } {
    return this.#guard(() => {
      const newest = new Map<string, LogRow>()
      let revision = 0
      for (const raw of this.#database.prepare(`SELECT ${columns} FROM log ORDER BY revision`).iterate()) {
        const row = this.#read(raw)
        revision = row.revision
        const id = `${row.resource}\n${row.namespace}\n${row.name}`
        if (row.type === 'deleted') newest.delete(id)
        else newest.set(id, row)
      }
      const objects = [...newest.values()].map((row) => ({
        key: keyOfRow(row),
        revision: row.revision,
        object: this.#decode(row.object, row.revision),
      }))
      return { objects, revision }
    })
  }

  /** All of them durably, or none. */
  append(writes: readonly PlannedWrite[]): void {
    this.#written += writes.length
    if (!this.#reserved && this.#written > writesBeforeReserve) this.#reserve()
    this.#transaction(() => {
      for (const { event, text, previousRevision } of writes) {
        const { resource, namespace, name } = event.key
        this.#insert.run(event.revision, event.type, resource, namespace, name, previousRevision, text)
      }
    })
  }

  /** Forgets history up to the revision; objects as they are now stay. */
  compact(revision: number): void {
    this.#transaction(() => {
      const range = 'revision > ?1 AND revision <= ?2'
      const from = this.#compactedRevision
      this.#database
        .prepare(`DELETE FROM log WHERE revision IN (SELECT previous FROM log WHERE ${range} AND previous > 0)`)
        .run(from, revision)
      this.#database.prepare(`DELETE FROM log WHERE ${range} AND type = 'deleted'`).run(from, revision)
      this.#database.prepare('UPDATE compaction SET revision = ?').run(revision)
    })
    this.#compactedRevision = revision
  }

  read({ resource, namespace }: StoreSelector, afterRevision: number, limit: number): readonly StoreEvent[] {
    if (afterRevision < this.#compactedRevision) throw new StoreCompacted(afterRevision, this.#compactedRevision)
    return this.#guard(() =>
      this.#replay.all(resource, afterRevision, namespace ?? null, limit).map((raw) => {
        const row = this.#read(raw)
        const { type, revision } = row
        const key = keyOfRow(row)
        if (type === 'created') return { type, revision, key, object: this.#decode(row.object, revision) }
        const previous = this.#decode(row.previousObject, row.previous)
        const object = type === 'deleted' ? withRevision(previous, revision) : this.#decode(row.object, revision)
        return { type, revision, key, object, previous }
      }),
    )
  }

  close(): void {
    this.#guard(() => this.#database.close())
  }

  /**
   * Writes the log to its usual length once: a sync of bytes in place is several times cheaper than one that also makes the
   * file longer. Zeros after the last commit are what SQLite ignores there; it never looks at the length.
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
      // A disk without that much room: commits go on, each making the file longer, as long as there is any.
    }
  }

  #transaction(act: () => void): void {
    try {
      this.#begin.run()
      act()
      this.#commit.run()
    } catch (error) {
      // SQLite has already rolled back after some failures; then there is nothing to roll back.
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

  #read(raw: Record<string, unknown>): LogRow {
    try {
      return readLogRow(raw)
    } catch (error) {
      throw new SluiceError('store_corrupt', { path: this.#path, reason: String(error) }, { cause: error })
    }
  }

  #decode(text: string | null, revision: number): StoredObject['object'] {
    try {
      if (text === null) throw new Error(`revision ${revision} is missing`)
      return decodeObject(text, revision)
    } catch (error) {
      throw new SluiceError('store_corrupt', { path: this.#path, reason: String(error) }, { cause: error })
    }
  }
}

/** SQLite answers a mode that the file system cannot do with another one, quietly. */
function refuseForgetful(database: DatabaseSync, path: string): void {
  const journal = database.prepare('PRAGMA journal_mode').get()?.['journal_mode']
  const synchronous = database.prepare('PRAGMA synchronous').get()?.['synchronous']
  if (journal === 'wal' && synchronous === fullSynchronous) return
  const reason = `durable writes are not possible here (journal ${String(journal)}, synchronous ${String(synchronous)})`
  throw new SluiceError('store_unavailable', { path, reason })
}

function keyOfRow({ resource, namespace, name }: LogRow): StoredObject['key'] {
  return { resource, namespace, name }
}
