import { SluiceError } from '../../foundation/errors.ts'
import { type FlatRows, type HistoryPageMessage, fieldsOfRow } from './log-messages.ts'
import type { StoreEvent, StoreKey, StoredObject } from '../store.ts'
import { decodeObject, withRevision } from '../stored-json.ts'

/** The objects of rows that the thread sent. Throws `store_corrupt`. */
export function* objectsOf(rows: FlatRows, path: string): Generator<StoredObject> {
  for (let at = 0; at < rows.length; at += fieldsOfRow) {
    const revision = Number(rows[at])
    yield { key: keyAt(rows, at), revision, object: decode(rows[at + 6], revision, path) }
  }
}

/** The events of a page of history. Throws `store_corrupt`. */
export function eventsOf({ rows, previous }: HistoryPageMessage, path: string): readonly StoreEvent[] {
  return previous.map((previousText, index) => {
    const at = index * fieldsOfRow
    const revision = Number(rows[at])
    const type = rows[at + 1]
    const key = keyAt(rows, at)
    if (type === 'created') return { type, revision, key, object: decode(rows[at + 6], revision, path) }
    const before = decode(previousText, Number(rows[at + 5]), path)
    if (type === 'deleted') return { type, revision, key, object: withRevision(before, revision), previous: before }
    return { type: 'updated', revision, key, object: decode(rows[at + 6], revision, path), previous: before }
  })
}

function keyAt(rows: FlatRows, at: number): StoreKey {
  return { resource: String(rows[at + 2]), namespace: String(rows[at + 3]), name: String(rows[at + 4]) }
}

function decode(text: FlatRows[number] | undefined, revision: number, path: string): StoredObject['object'] {
  try {
    if (typeof text !== 'string') throw new Error(`revision ${revision} is missing`)
    return decodeObject(text, revision)
  } catch (error) {
    throw new SluiceError('store_corrupt', { path, reason: String(error) }, { cause: error })
  }
}
