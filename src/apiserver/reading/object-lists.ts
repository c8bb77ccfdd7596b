import type { Clock } from '../../foundation/clock.ts'
import { type Kind, resourceNameOf } from '../../resources/kind.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { StoredObject } from '../../store/store.ts'
import type { PageRequest } from '../api-requests.ts'
import type { Turns } from '../flow-control/flow-control.ts'
import type { KindStore } from '../kind-store.ts'
import { type ListPage, ListSnapshots } from './list-snapshots.ts'
import { matcherOf, selectInTurns, selectsAll } from './object-matcher.ts'

/** Lists the objects of a kind, all or selected ones, whole or in pages. */
export class ObjectLists {
  readonly #store: KindStore
  readonly #clock: Clock
  readonly #snapshots: ListSnapshots

  /** `writtenBytes` tells how much has been written to the store so far. */
  constructor(store: KindStore, clock: Clock, writtenBytes: () => number) {
    this.#store = store
    this.#clock = clock
    this.#snapshots = new ListSnapshots(writtenBytes)
  }

  list(kind: Kind, request: PageRequest): ListPage {
    if (request.continueToken) return this.#nextPage(kind, request.continueToken, request)
    const list = this.#store.list(kind, request.namespace)
    const items = selectsAll(request) ? list.items : list.items.filter(matcherOf(request))
    return this.#firstPage(kind, items, list.revision, request)
  }

  /** The same for callers who can wait: others have their turn in between, however many objects must be looked at. */
  async listInTurns(kind: Kind, request: PageRequest, turns: Turns | undefined): Promise<ListPage> {
    if (!turns || request.continueToken || (selectsAll(request) && !kind.storage)) return this.list(kind, request)
    const { items, revision, show } = this.#store.listStored(kind, request.namespace)
    const matches = matcherOf(request)
    const select = ({ object }: StoredObject) => {
      const shown = show(object)
      return matches(shown) ? shown : undefined
    }
    return this.#firstPage(kind, await selectInTurns(items, select, turns), revision, request)
  }

  /** Called after a write. */
  tidy(): void {
    this.#snapshots.tidy(this.#clock.now())
  }

  #firstPage(kind: Kind, items: readonly KubernetesObject[], revision: number, request: PageRequest): ListPage {
    const { limit = 0 } = request
    return this.#snapshots.firstPage(items, String(revision), limit, scopeOf(kind, request), this.#clock.now())
  }

  #nextPage(kind: Kind, token: string, request: PageRequest): ListPage {
    return this.#snapshots.nextPage(token, request.limit ?? 0, scopeOf(kind, request), this.#clock.now())
  }
}

/** What was asked: a page token is only valid for the same question. */
function scopeOf(kind: Kind, { namespace = '', scope = '' }: PageRequest): string {
  return `${kind.version}/${resourceNameOf(kind)}?${namespace}?${scope}`
}
