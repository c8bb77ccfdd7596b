import type { ObjectTable } from './object-table.ts'
import { StoreConflict, type StoreEvent, type StoreKey, type StoredObject } from './store.ts'
import { type EncodedObject, decodeObject, textOf, withRevision } from './stored-json.ts'

/** A write as it was asked for. */
export type WriteRequest =
  | { readonly type: 'create'; readonly key: StoreKey; readonly encoded: EncodedObject }
  | {
      readonly type: 'update'
      readonly key: StoreKey
      readonly encoded: EncodedObject
      readonly expectedRevision: number
    }
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
  /** What was decided so far, by key; a batch of one has no need of it. */
  #pending: Map<string, PlannedWrite> | undefined
  #revision: number

  constructor(table: ObjectTable, revision: number) {
    this.#table = table
    this.#revision = revision
  }

  /** Throws `StoreConflict`. */
  plan(request: WriteRequest): PlannedWrite {
    const write = decide(request, this.#current(request.key), this.#revision + 1)
    this.#revision += 1
    this.#pending?.set(idOf(request.key), write)
    this.planned.push(write)
    return write
  }

  #current(key: StoreKey): StoredObject | undefined {
    if (this.planned.length === 0) return this.#table.get(key)
    this.#pending ??= new Map(this.planned.map((write) => [idOf(write.stored.key), write]))
    const pending = this.#pending.get(idOf(key))
    if (!pending) return this.#table.get(key)
    return pending.event.type === 'deleted' ? undefined : pending.stored
  }

  /** Makes the decided writes the table's. Called once they are durable. */
  apply(): void {
    for (const { event, stored } of this.planned) {
      if (event.type === 'deleted') this.#table.remove(stored.key)
      else this.#table.put(stored)
    }
  }
}

function idOf({ resource, namespace, name }: StoreKey): string {
  return `${resource}\n${namespace}\n${name}`
}

function decide(request: WriteRequest, current: StoredObject | undefined, revision: number): PlannedWrite {
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
