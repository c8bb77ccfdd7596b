import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, backup } from 'node:sqlite'

/** A commit waits no longer than it takes to copy so many pages. */
const pagesPerStep = 256

/** Copies a database, also one that is in use by this very connection. The copy may be read by its owner only. */
export async function copyDatabase(database: DatabaseSync, path: string): Promise<void> {
  closeSync(openSync(path, 'wx', 0o600))
  await backup(database, path, { rate: pagesPerStep })
}

/** The same for a file that nobody uses. */
export async function copyDatabaseFile(from: string, to: string): Promise<void> {
  const database = new DatabaseSync(from)
  try {
    await copyDatabase(database, to)
  } finally {
    database.close()
  }
}
