import type { HostRoutes } from './exposure-edge.ts'
import type { ExposureRoute } from './plan-routes.ts'
import { upstreamKey } from './pick-upstream.ts'

/** What has changed since the last news; the first have everything. */
export interface RouteNews {
  readonly put: readonly ExposureRoute[]
  /** Hosts that lead nowhere any more. */
  readonly gone: readonly string[]
}

/** What a feed needs of the routes; RouteTable is one. */
export interface RouteSource {
  readonly routes: ReadonlyMap<string, ExposureRoute>
  onChange(listener: () => void): () => void
}

/** Tells other threads where hosts lead. Changes of one turn are told together, and only what is not as it was. */
export class RouteFeed {
  readonly #source: RouteSource
  readonly #tell: (news: RouteNews) => void
  readonly #unsubscribe: () => void
  #told: ReadonlyMap<string, ExposureRoute>
  #tellingSoon = false
  #closed = false

  constructor(source: RouteSource, tell: (news: RouteNews) => void) {
    this.#source = source
    this.#tell = tell
    this.#told = source.routes
    this.#unsubscribe = source.onChange(() => this.#tellSoon())
  }

  /**
   * Everything there is, for somebody new. The others hear first what they have not yet: what is told next builds upon
   * it.
   */
  whole(): RouteNews {
    this.#tellChanged()
    return { put: [...this.#told.values()], gone: [] }
  }

  close(): void {
    this.#closed = true
    this.#unsubscribe()
  }

  #tellSoon(): void {
    if (this.#tellingSoon) return
    this.#tellingSoon = true
    setImmediate(() => {
      this.#tellingSoon = false
      if (!this.#closed) this.#tellChanged()
    })
  }

  #tellChanged(): void {
    const { routes } = this.#source
    const told = this.#told
    this.#told = routes
    const put = [...routes.values()].filter((route) => !isSame(route, told.get(route.host)))
    const gone = [...told.keys()].filter((host) => !routes.has(host))
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
