import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Figures } from './process-figures.ts'

const mebibyte = 1024 * 1024
const tries = 5

/**
 * What the store's file contains. The program has locked the file, so a copy is read. A copy that was made during a
 * write is detected and made again.
 */
export function storeFigures(data: string): Figures {
  for (let attempt = 1; ; attempt += 1) {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-soak-store-'))
    try {
      return readCopy(data, join(folder, 'store.db'))
    } catch (error) {
      if (attempt === tries) throw error
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

function readCopy(data: string, copy: string): Figures {
  for (const ending of ['', '-wal']) {
    const file = join(data, `sluice.db${ending}`)
    if (existsSync(file)) copyFileSync(file, `${copy}${ending}`)
  }
  const database = new DatabaseSync(copy)
  try {
    const number = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0] ?? 0)
    if (Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})[0] !== 'ok') throw new Error('torn copy')
    const pageMiB = number('PRAGMA page_size') / mebibyte
    const current = `revision IN (SELECT max(revision) FROM log GROUP BY resource, namespace, name) AND type != 'deleted'`
    const ofResources = database
      .prepare(
        `SELECT resource, count(*) AS objects, sum(length(object)) AS bytes FROM log WHERE ${current} GROUP BY resource`,
      )
      .all()
    const objects = number(`SELECT count(*) FROM log WHERE ${current}`)
    const free = number('PRAGMA freelist_count')
    return {
      'store pages in use MiB': (number('PRAGMA page_count') - free) * pageMiB,
      'store pages free MiB': free * pageMiB,
      'objects MiB': ofResources.reduce((sum, { bytes }) => sum + Number(bytes), 0) / mebibyte,
      'history MiB': number(`SELECT coalesce(sum(length(object)), 0) FROM log WHERE NOT (${current})`) / mebibyte,
      'history entries': number('SELECT count(*) FROM log') - objects,
      ...Object.fromEntries(
        ofResources.map(({ resource, objects }) => [`objects: ${String(resource)}`, Number(objects)]),
      ),
    }
  } finally {
    database.close()
  }
}
