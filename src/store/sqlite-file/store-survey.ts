import { constants, copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SluiceError } from '../../foundation/errors.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { storeFailure } from './sqlite-failure.ts'
import { migrations } from './sqlite-schema.ts'
import { decodeObject } from '../stored-json.ts'

/** How much there is of one resource in one namespace. */
export interface SurveyedResource {
  readonly resource: string
  readonly namespace: string
  readonly objects: number
  readonly bytes: number
}

/** The newest row of each object. */
const newest = `SELECT max(revision) AS revision FROM log GROUP BY resource, namespace, name`

/**
 * Reads a store's file without owning it. It reads a copy, because even reading a log that was not closed properly
 * would change the file. Nobody may be writing to it meanwhile.
 */
export class StoreSurvey {
  /** The file together with its write-ahead log. */
  readonly fileBytes: number
  readonly #path: string
  readonly #folder: string
  readonly #database: DatabaseSync

  private constructor(path: string, folder: string, database: DatabaseSync) {
    this.#path = path
    this.#folder = folder
    this.#database = database
    this.fileBytes = filesOf(path).reduce((sum, file) => sum + statSync(file).size, 0)
  }

  /** Throws `store_corrupt`, `store_too_new` or `store_unavailable`. */
  static open(path: string): StoreSurvey {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-survey-'))
    let database: DatabaseSync | undefined
    try {
      const copy = join(folder, 'store.db')
      for (const file of filesOf(path)) {
        copyFileSync(file, `${copy}${file.slice(path.length)}`, constants.COPYFILE_FICLONE)
      }
      database = new DatabaseSync(copy)
      const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
      if (version > migrations.length) {
        throw new SluiceError('store_too_new', { path, found: version, known: migrations.length })
      }
      const check = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check']
      if (check !== 'ok') throw new SluiceError('store_corrupt', { path, reason: String(check) })
      return new StoreSurvey(path, folder, database)
    } catch (error) {
      database?.close()
      rmSync(folder, { recursive: true, force: true })
      throw storeFailure(error, path)
    }
  }

  /** The newest revision; 0 when nothing was ever written. */
  get revision(): number {
    return Number(this.#database.prepare('SELECT max(revision) AS revision FROM log').get()?.['revision'] ?? 0)
  }

  /** The current objects per resource, the most numerous first. */
  resources(): readonly SurveyedResource[] {
    const rows = this.#database
      .prepare(
        `SELECT resource, namespace, count(*) AS objects, sum(length(object)) AS bytes
         FROM log WHERE revision IN (${newest}) AND type != 'deleted'
         GROUP BY resource, namespace ORDER BY objects DESC, resource, namespace`,
      )
      .all()
    return rows.map((row) => ({
      resource: String(row['resource']),
      namespace: String(row['namespace']),
      objects: Number(row['objects']),
      bytes: Number(row['bytes']),
    }))
  }

  /** Every current object, one at a time. Throws `store_corrupt` at one that cannot be read. */
  *objects(): Generator<{ readonly resource: string; readonly object: KubernetesObject }> {
    const rows = this.#database
      .prepare(
        `SELECT revision, resource, object FROM log WHERE revision IN (${newest}) AND type != 'deleted' ORDER BY revision`,
      )
      .iterate()
    for (const row of rows) {
      const revision = Number(row['revision'])
      try {
        yield { resource: String(row['resource']), object: decodeObject(String(row['object']), revision) }
      } catch (error) {
        throw new SluiceError('store_corrupt', { path: this.#path, reason: `revision ${revision}` }, { cause: error })
      }
    }
  }

  close(): void {
    this.#database.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** SQLite's write-ahead log is part of the store; its shared memory is only an index and is rebuilt. */
function filesOf(path: string): readonly string[] {
  return [path, `${path}-wal`].filter((file) => existsSync(file))
}
