import type { HostRoutes } from './exposure-edge.ts'
import type { ExposureRoute } from './plan-host.ts'
import { upstreamKey } from './pick-upstream.ts'
import type { RouteChange } from './route-table.ts'

/** What has changed since the last news; the first have everything. */
export interface RouteNews {
  readonly put: readonly ExposureRoute[]
  /** Hosts that lead nowhere any more. */
  readonly gone: readonly string[]
}

/** What a feed needs of the routes; RouteTable is one. */
export interface RouteSource {
  readonly routes: ReadonlyMap<string, ExposureRoute>
  find(host: string): ExposureRoute | undefined
  onChange(listener: (change: RouteChange) => void): () => void
}

/**
 * Tells other threads where hosts lead. Changes of one turn are told together, and only what is different. Hosts that
 * did not change are not even looked at: with thousands of them that would take longer than the change itself.
 */
export class RouteFeed {
  readonly #source: RouteSource
  readonly #tell: (news: RouteNews) => void
  readonly #unsubscribe: () => void
  readonly #told: Map<string, ExposureRoute>
  /** The hosts that may have changed since they were told. */
  #changed: Set<string> | 'all' = new Set()
  #tellingSoon = false
  #closed = false

  constructor(source: RouteSource, tell: (news: RouteNews) => void) {
    this.#source = source
    this.#tell = tell
    this.#told = new Map(source.routes)
    this.#unsubscribe = source.onChange((change) => this.#note(change))
  }

  /**
   * Everything that was told so far, for a new thread. The others are told first what they do not know yet: the next
   * news build upon it.
   */
  whole(): RouteNews {
    this.#tellChanged()
    return { put: [...this.#told.values()], gone: [] }
  }

  close(): void {
    this.#closed = true
    this.#unsubscribe()
  }

  #note(change: RouteChange): void {
    if (change === 'all' || this.#changed === 'all') this.#changed = 'all'
    else for (const host of change.hosts) this.#changed.add(host)
    if (this.#tellingSoon) return
    this.#tellingSoon = true
    setImmediate(() => {
      this.#tellingSoon = false
      if (!this.#closed) this.#tellChanged()
    })
  }

  #tellChanged(): void {
    const hosts =
      this.#changed === 'all' ? new Set([...this.#told.keys(), ...this.#source.routes.keys()]) : this.#changed
    this.#changed = new Set()
    const put: ExposureRoute[] = []
    const gone: string[] = []
    for (const host of hosts) {
      const route = this.#source.find(host)
      const told = this.#told.get(host)
      if (route && !isSame(route, told)) put.push(route)
      else if (!route && told) gone.push(host)
    }
    for (const route of put) this.#told.set(route.host, route)
    for (const host of gone) this.#told.delete(host)
    if (put.length + gone.length > 0) this.#tell({ put, gone })
  }
}

/** The same routes in the other thread. */
export class RouteMirror implements HostRoutes {
  readonly #routes = new Map<string, ExposureRoute>()

  find(host: string): ExposureRoute | undefined {
    return this.#routes.get(host)
  }

  hear({ put, gone }: RouteNews): void {
    for (const route of put) this.#routes.set(route.host, route)
    for (const host of gone) this.#routes.delete(host)
  }
}

function isSame(one: ExposureRoute, other: ExposureRoute | undefined): boolean {
  if (one === other) return true
  return (
    other !== undefined &&
    one.exporter === other.exporter &&
    one.certificate?.cert === other.certificate?.cert &&
    one.certificate?.key === other.certificate?.key &&
    one.endpoints.length === other.endpoints.length &&
    one.endpoints.every((endpoint, at) => {
      const same = other.endpoints[at]
      return same !== undefined && upstreamKey(same) === upstreamKey(endpoint)
    })
  )
}
