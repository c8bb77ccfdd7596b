import type { ObjectTable } from './table/object-table.ts'
import { type PlannedWrite, type WriteRequest, planWrite } from './planned-write.ts'
import type { StoreKey, StoredObject } from './store.ts'

/**
 * Writes that are decided but not yet durable. They are decided in order, each based on all before it, without touching
 * the table, which only changes when they are durable. A conflict fails its own write and no other.
 */
export class PendingWrites {
  readonly #table: ObjectTable
  /** In the order of their revisions. */
  #planned: PlannedWrite[] = []
  /** The newest write of each object. */
  readonly #newest = new Map<string, PlannedWrite>()
  #revision: number

  constructor(table: ObjectTable, revision: number) {
    this.#table = table
    this.#revision = revision
  }

  /** The revision of the newest decided write, durable or not. */
  get revision(): number {
    return this.#revision
  }

  get size(): number {
    return this.#planned.length
  }

  /** Throws `StoreConflict`. */
  plan(request: WriteRequest): PlannedWrite {
    const write = planWrite(request, this.#current(request.key), this.#revision + 1)
    this.#revision += 1
    this.#newest.set(idOf(request.key), write)
    this.#planned.push(write)
    return write
  }

  /** Applies the writes up to the revision to the table, because they are durable, and returns them in order. */
  applyThrough(revision: number): readonly PlannedWrite[] {
    const after = this.#planned.findIndex(({ event }) => event.revision > revision)
    const applied = after < 0 ? this.#planned : this.#planned.slice(0, after)
    this.#planned = after < 0 ? [] : this.#planned.slice(after)
    for (const write of applied) {
      if (write.event.type === 'deleted') this.#table.remove(write.stored.key)
      else this.#table.put(write.stored)
      const id = idOf(write.stored.key)
      if (this.#newest.get(id) === write) this.#newest.delete(id)
    }
    return applied
  }

  /** Drops the writes that never became durable: the next write gets the revision after this one. */
  dropAfter(revision: number): void {
    this.#planned = []
    this.#newest.clear()
    this.#revision = revision
  }

  #current(key: StoreKey): StoredObject | undefined {
    const pending = this.#newest.size > 0 ? this.#newest.get(idOf(key)) : undefined
    if (!pending) return this.#table.get(key)
    return pending.event.type === 'deleted' ? undefined : pending.stored
  }
}

function idOf({ resource, namespace, name }: StoreKey): string {
  return `${resource}\n${namespace}\n${name}`
}
