import { randomUUID } from 'node:crypto'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import { StatusError } from '../../resources/status-error.ts'

export interface ListPage {
  readonly items: readonly KubernetesObject[]
  readonly resourceVersion: string
  readonly continueToken?: string | undefined
  readonly remaining?: number | undefined
}

interface Snapshot {
  readonly items: readonly KubernetesObject[]
  readonly resourceVersion: string
  readonly scope: string
  readonly takenAt: number
  readonly writtenBefore: number
}

const mostSnapshots = 64
const mostItems = 1_000_000
/**
 * How much may be written before a held list expires. This bounds how much of what is no longer stored lists keep in
 * memory.
 */
const mostWrittenBytes = 256 * 1024 * 1024
const mostPagesKept = 64
const snapshotLifeMs = 5 * 60_000

/**
 * Lists that are read in pages. The whole list is held from its first page on, at the price of one pointer per object,
 * so that all pages show one consistent state. Bounded in number, items, bytes written since, and time; whoever comes
 * back too late gets Expired and starts again, as with Kubernetes.
 */
export class ListSnapshots {
  readonly #held = new Map<string, Snapshot>()
  readonly #writtenBytes: () => number
  #items = 0
  /**
   * Pages by their beginning and end, so that clients who read the same page share its array, and with it its bytes.
   */
  readonly #pages = new WeakMap<readonly KubernetesObject[], Map<string, readonly KubernetesObject[]>>()

  constructor(writtenBytes: () => number = () => 0) {
    this.#writtenBytes = writtenBytes
  }

  /** `scope` says what was listed: a token is only valid for the same question. */
  firstPage(
    items: readonly KubernetesObject[],
    resourceVersion: string,
    limit: number,
    scope: string,
    now: number,
  ): ListPage {
    if (limit <= 0 || items.length <= limit) return { items, resourceVersion }
    const id = randomUUID()
    this.#makeRoom(items.length, now)
    const snapshot = { items, resourceVersion, scope, takenAt: now, writtenBefore: this.#writtenBytes() }
    this.#held.set(id, snapshot)
    this.#items += items.length
    return this.#page(id, snapshot, 0, limit)
  }

  nextPage(token: string, limit: number, scope: string, now: number): ListPage {
    const { id, at } = readToken(token)
    const snapshot = this.#held.get(id)
    if (!snapshot || this.#isOver(snapshot, now)) {
      throw new StatusError(
        'Expired',
        'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
      )
    }
    if (snapshot.scope !== scope) throw invalidToken()
    return this.#page(id, snapshot, at, limit)
  }

  /** Drops expired lists, since the next list may be long in coming. */
  tidy(now: number): void {
    if (this.#held.size > 0) this.#makeRoom(0, now)
  }

  #page(id: string, { items, resourceVersion }: Snapshot, at: number, limit: number): ListPage {
    const end = limit > 0 ? Math.min(items.length, at + limit) : items.length
    const page = { items: this.#slice(items, at, end), resourceVersion }
    // The snapshot of a list that was read to the end is kept for a while: a client whose last page got lost asks for
    // it again.
    if (end >= items.length) return page
    const continueToken = Buffer.from(JSON.stringify({ id, at: end })).toString('base64url')
    return { ...page, continueToken, remaining: items.length - end }
  }

  #slice(items: readonly KubernetesObject[], at: number, end: number): readonly KubernetesObject[] {
    let pages = this.#pages.get(items)
    if (!pages) this.#pages.set(items, (pages = new Map()))
    const name = `${at}-${end}`
    const known = pages.get(name)
    if (known) return known
    const page = items.slice(at, end)
    if (pages.size < mostPagesKept) pages.set(name, page)
    return page
  }

  #makeRoom(count: number, now: number): void {
    for (const [id, snapshot] of this.#held) {
      const tooMany = (count > 0 && this.#held.size >= mostSnapshots) || this.#items + count > mostItems
      if (!tooMany && !this.#isOver(snapshot, now)) break
      this.#held.delete(id)
      this.#items -= snapshot.items.length
    }
  }

  #isOver({ takenAt, writtenBefore }: Snapshot, now: number): boolean {
    return now - takenAt > snapshotLifeMs || this.#writtenBytes() - writtenBefore > mostWrittenBytes
  }
}

function readToken(token: string): { id: string; at: number } {
  try {
    const value: unknown = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'))
    if (typeof value === 'object' && value !== null && 'id' in value && 'at' in value) {
      const { id, at } = value
      if (typeof id === 'string' && typeof at === 'number' && Number.isSafeInteger(at) && at >= 0) return { id, at }
    }
  } catch {
    // Not JSON: refused below like any other invalid token.
  }
  throw invalidToken()
}

function invalidToken(): StatusError {
  return new StatusError('BadRequest', 'continue key is not valid')
}
