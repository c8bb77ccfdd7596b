import { SlowWatcher, type Store, StoreCompacted } from '../../../store/store.ts'
import { rbacResources } from './role-objects.ts'
import type { RoleTable } from './role-table.ts'

const resources = Object.values(rbacResources)

/**
 * Keeps a table of roles equal to the store until the signal is aborted or the store closes. A change is in the table
 * before the next request is read, because the store reports it in the same turn of the event loop in which it
 * acknowledges it.
 */
export class RoleFollower {
  readonly #store: Store
  readonly #table: RoleTable
  readonly #changed: () => void
  readonly #revisions: ReadonlyMap<string, number>

  /** Reads everything that exists before it returns. */
  constructor(store: Store, table: RoleTable, changed: () => void = () => {}) {
    this.#store = store
    this.#table = table
    this.#changed = changed
    this.#revisions = new Map(resources.map((resource) => [resource, this.#load(resource)]))
  }

  async follow(signal: AbortSignal): Promise<void> {
    await Promise.all(resources.map((resource) => this.#followOne(resource, signal)))
  }

  async #followOne(resource: string, signal: AbortSignal): Promise<void> {
    let from = this.#revisions.get(resource) ?? 0
    while (!signal.aborted) {
      try {
        for await (const event of this.#store.watch({ resource }, from, signal)) {
          if (event.type === 'deleted') this.#table.remove(resource, event.key)
          else this.#table.put(resource, event.object)
          this.#changed()
        }
        return
      } catch (error) {
        if (!(error instanceof SlowWatcher) && !(error instanceof StoreCompacted)) throw error
        from = this.#load(resource)
        this.#changed()
      }
    }
  }

  #load(resource: string): number {
    this.#table.clear(resource)
    const { items, revision } = this.#store.list({ resource })
    for (const { object } of items) this.#table.put(resource, object)
    return revision
  }
}
