import { StoreConflict, type StoreEvent, type StoreKey, type StoredObject } from './store.ts'
import { type EncodedObject, decodeObject, textOf, withRevision } from './stored-json.ts'

/** A write as it was requested. */
export type WriteRequest =
  | { readonly type: 'create'; readonly key: StoreKey; readonly encoded: EncodedObject }
  | {
      readonly type: 'update'
      readonly key: StoreKey
      readonly encoded: EncodedObject
      readonly expectedRevision: number
    }
  | { readonly type: 'delete'; readonly key: StoreKey; readonly expectedRevision: number | undefined }

/** A decided write, which takes effect when it is durable. */
export interface PlannedWrite {
  readonly event: StoreEvent
  readonly stored: StoredObject
  /** What is logged; null for a deletion. */
  readonly text: string | null
  readonly previousRevision: number
}

/** Decides what a write does to the current object, and gives it its revision. Throws `StoreConflict`. */
export function planWrite(request: WriteRequest, current: StoredObject | undefined, revision: number): PlannedWrite {
  const { key } = request
  if (request.type === 'create') {
    if (current) throw new StoreConflict('exists', key)
    const text = textOf(request.encoded, revision)
    const object = decodeObject(text, revision)
    const event = { type: 'created' as const, revision, key, object }
    return { event, stored: { key, revision, object }, text, previousRevision: 0 }
  }
  if (!current) throw new StoreConflict('missing', key)
  if (request.expectedRevision !== undefined && request.expectedRevision !== current.revision) {
    throw new StoreConflict('changed', key)
  }
  const previous = current.object
  const text = request.type === 'delete' ? null : textOf(request.encoded, revision)
  const object = text === null ? withRevision(previous, revision) : decodeObject(text, revision)
  return {
    event: { type: text === null ? 'deleted' : 'updated', revision, key, object, previous },
    stored: { key, revision, object },
    text,
    previousRevision: current.revision,
  }
}
