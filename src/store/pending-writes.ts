import type { ObjectTable } from './table/object-table.ts'
import { type PlannedWrite, type WriteRequest, planWrite } from './planned-write.ts'
import type { StoreKey, StoredObject } from './store.ts'

/**
 * Writes that are decided and not yet durable. They are decided in order, each seeing all before it, without touching
 * the table: what was decided becomes true only when it is durable. A conflict fails its own write and no other.
 */
export class PendingWrites {
  readonly #table: ObjectTable
  /** In the order of their revisions. */
  #planned: PlannedWrite[] = []
  /** The newest of each object. */
  readonly #newest = new Map<string, PlannedWrite>()
  #revision: number

  constructor(table: ObjectTable, revision: number) {
    this.#table = table
    this.#revision = revision
  }

  /** Of the newest write that was decided, durable or not. */
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

  /** Makes what was decided up to the revision the table's, because it is durable, and returns it in order. */
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

  /** What is left never became durable: the next write gets the revision after this one. */
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
