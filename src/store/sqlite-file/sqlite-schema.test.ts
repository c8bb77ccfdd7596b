import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { migrate, migrations } from './sqlite-schema.ts'

const next = `ALTER TABLE log ADD COLUMN size INTEGER; UPDATE log SET size = length(object);`

function versionOne(): DatabaseSync {
  const database = new DatabaseSync(':memory:')
  migrate(database, ':memory:')
  database.exec(`INSERT INTO log VALUES (1, 'created', 'configmaps', 'default', 'a', 0, '{"metadata":{}}')`)
  return database
}

const versionOf = (database: DatabaseSync) => database.prepare('PRAGMA user_version').get()?.['user_version']

describe('the schema of the file', () => {
  it('moves a file with data to the next version, once', () => {
    const database = versionOne()
    const before = versionOf(database)
    migrate(database, ':memory:', [...migrations, next])
    migrate(database, ':memory:', [...migrations, next])
    expect(versionOf(database)).toBe(Number(before) + 1)
    expect(database.prepare('SELECT name, size FROM log').all()).toEqual([{ name: 'a', size: 15 }])
  })

  it('makes a new file at the newest version', () => {
    const database = new DatabaseSync(':memory:')
    migrate(database, ':memory:', [...migrations, next])
    expect(versionOf(database)).toBe(migrations.length + 1)
  })

  it('leaves the file as it was when a step fails half way', () => {
    const database = versionOne()
    expect(() => migrate(database, ':memory:', [...migrations, `${next} INSERT INTO nowhere VALUES (1);`])).toThrow(
      'nowhere',
    )
    if (database.isTransaction) database.exec('ROLLBACK')
    expect(versionOf(database)).toBe(migrations.length)
    expect(database.prepare('SELECT * FROM log').all()).toMatchObject([{ revision: 1, name: 'a' }])
    expect(Object.keys(database.prepare('SELECT * FROM log').get() ?? {})).not.toContain('size')
  })

  it('is refused by a program that is older than the file', () => {
    const database = versionOne()
    migrate(database, ':memory:', [...migrations, next])
    expect(() => migrate(database, 'here')).toThrow(expect.objectContaining({ code: 'store_too_new' }))
  })
})
