import type { ObjectTable } from './object-table.ts'
import { StoreConflict, type StoreEvent, type StoreKey, type StoredObject } from './store.ts'
import { decodeObject, withRevision } from './stored-json.ts'

/** A write as it was asked for. `text` is the encoded object. */
export type WriteRequest =
  | { readonly type: 'create'; readonly key: StoreKey; readonly text: string }
  | { readonly type: 'update'; readonly key: StoreKey; readonly text: string; readonly expectedRevision: number }
  | { readonly type: 'delete'; readonly key: StoreKey; readonly expectedRevision: number | undefined }

/** A write that will happen when its batch commits. */
export interface PlannedWrite {
  readonly event: StoreEvent
  readonly stored: StoredObject
  /** What the log keeps; a deletion keeps nothing of its own. */
  readonly text: string | null
  readonly previousRevision: number
}

/**
 * Decides a batch of writes in order, each seeing the ones before it, without touching the table: what was decided becomes
 * true only when it is durable. A conflict fails its own write and no other.
 */
export class WriteBatch {
  readonly planned: PlannedWrite[] = []
  readonly #table: ObjectTable
  readonly #pending = new Map<string, StoredObject | undefined>()
  #revision: number

  constructor(table: ObjectTable, revision: number) {
    this.#table = table
    this.#revision = revision
  }

  /** Throws `StoreConflict`. */
  plan(request: WriteRequest): PlannedWrite {
    const id = `${request.key.resource}\n${request.key.namespace}\n${request.key.name}`
    const current = this.#pending.has(id) ? this.#pending.get(id) : this.#table.get(request.key)
    const write = decide(request, current, this.#revision + 1)
    this.#revision += 1
    this.#pending.set(id, write.event.type === 'deleted' ? undefined : write.stored)
    this.planned.push(write)
    return write
  }

  /** Makes the decided writes the table's. Called once they are durable. */
  apply(): void {
    for (const { event, stored } of this.planned) {
      if (event.type === 'deleted') this.#table.remove(stored.key)
      else this.#table.put(stored)
    }
  }
}

function decide(request: WriteRequest, current: StoredObject | undefined, revision: number): PlannedWrite {
  const { key } = request
  if (request.type === 'create') {
    if (current) throw new StoreConflict('exists', key)
    const object = decodeObject(request.text, revision)
    const event = { type: 'created' as const, revision, key, object }
    return { event, stored: { key, revision, object }, text: request.text, previousRevision: 0 }
  }
  if (!current) throw new StoreConflict('missing', key)
  if (request.expectedRevision !== undefined && request.expectedRevision !== current.revision) {
    throw new StoreConflict('changed', key)
  }
  const previous = current.object
  const deleted = request.type === 'delete'
  const object = deleted ? withRevision(previous, revision) : decodeObject(request.text, revision)
  return {
    event: { type: deleted ? 'deleted' : 'updated', revision, key, object, previous },
    stored: { key, revision, object },
    text: deleted ? null : request.text,
    previousRevision: current.revision,
  }
}
