import type { DatabaseSync } from 'node:sqlite'
import { SluiceError } from '../../foundation/errors.ts'

/**
 * Step n brings the schema from version n to n + 1. Steps are never changed once released: add one.
 *
 * Version 1: a single log. Each row is one write under its revision. `object` is its JSON, or NULL for a deletion; the
 * resource version in it does not count, the row's revision does. `previous` is the revision of the row that this one
 * replaced, 0 for a creation. A row stays as long as it is the newest of its object, or as long as a watch may still
 * ask for it or for the row that replaced it.
 *
 * Version 2: some resources keep only their newest objects. Rows of such a resource before a revision no longer count,
 * even if they have not been removed yet; history begins at `floor`, because no event reported their end.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE log (
     revision INTEGER PRIMARY KEY,
     type TEXT NOT NULL CHECK (type IN ('created', 'updated', 'deleted')),
     resource TEXT NOT NULL,
     namespace TEXT NOT NULL,
     name TEXT NOT NULL,
     previous INTEGER NOT NULL,
     object TEXT
   ) STRICT;
   CREATE INDEX log_by_resource ON log (resource, revision);
   CREATE TABLE compaction (id INTEGER PRIMARY KEY CHECK (id = 0), revision INTEGER NOT NULL) STRICT;
   INSERT INTO compaction VALUES (0, 0);`,
  `CREATE TABLE left_out (resource TEXT PRIMARY KEY, before INTEGER NOT NULL, floor INTEGER NOT NULL) STRICT;`,
]

/** Brings the file to the newest schema; each step happens completely or not at all. */
export function migrate(database: DatabaseSync, path: string, steps: readonly string[] = migrations): void {
  const found = Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
  if (found > steps.length) {
    throw new SluiceError('store_too_new', { path, found, known: steps.length })
  }
  for (const [index, step] of steps.entries()) {
    if (index < found) continue
    database.exec(`BEGIN IMMEDIATE; ${step} PRAGMA user_version = ${index + 1}; COMMIT`)
  }
}
