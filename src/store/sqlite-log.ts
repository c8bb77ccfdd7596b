import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { z } from 'zod'
import { SluiceError } from '../foundation/errors.ts'
import { storeFailure } from './sqlite-failure.ts'
import { migrate } from './sqlite-schema.ts'
import { StoreCompacted, type StoreEvent, type StoreSelector, type StoredObject } from './store.ts'
import { decodeObject, withRevision } from './stored-json.ts'
import type { StoreHistory } from './watch-from.ts'
import type { PlannedWrite } from './write-batch.ts'

const rowSchema = z.object({
  revision: z.int().positive(),
  type: z.enum(['created', 'updated', 'deleted']),
  resource: z.string(),
  namespace: z.string(),
  name: z.string(),
  previous: z.int(),
  object: z.string().nullable(),
})
const eventRowSchema = rowSchema.extend({ previousObject: z.string().nullable() })
type Row = z.infer<typeof rowSchema>

const columns = 'log.revision, log.type, log.resource, log.namespace, log.name, log.previous, log.object'

/** The file: a log of writes in SQLite. Everything that knows SQL is here; what it throws are coded errors. */
export class SqliteLog implements StoreHistory {
  readonly #path: string
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  readonly #replay: StatementSync
  #compactedRevision: number

  private constructor(path: string, database: DatabaseSync) {
    this.#path = path
    this.#database = database
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
      // After a burst of writes the write-ahead log shrinks again.
      database.exec('PRAGMA journal_size_limit = 67108864')
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
      const newest = new Map<string, Row>()
      let revision = 0
      for (const raw of this.#database.prepare(`SELECT ${columns} FROM log ORDER BY revision`).iterate()) {
        const row = this.#parse(rowSchema, raw)
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
        const row = this.#parse(eventRowSchema, raw)
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

  #transaction(act: () => void): void {
    try {
      this.#database.exec('BEGIN IMMEDIATE')
      act()
      this.#database.exec('COMMIT')
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

  #parse<R>(schema: z.ZodType<R>, raw: unknown): R {
    const parsed = schema.safeParse(raw)
    if (parsed.success) return parsed.data
    throw new SluiceError('store_corrupt', { path: this.#path, reason: z.prettifyError(parsed.error) })
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

function keyOfRow({ resource, namespace, name }: Row): StoredObject['key'] {
  return { resource, namespace, name }
}
