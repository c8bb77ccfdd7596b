import type { ExposureRoute } from './plan-host.ts'
import type { RouteSource } from './route-mirror.ts'
import type { RouteChange } from './route-table.ts'

/**
 * The routes of all clusters behind one edge. A host contains the ID of its cluster, so two clusters never have the
 * same host.
 */
export class JoinedRoutes implements RouteSource {
  readonly #sources = new Map<RouteSource, () => void>()
  readonly #listeners = new Set<(change: RouteChange) => void>()

  /** Returns how to take the cluster's routes out again. */
  add(source: RouteSource): () => void {
    this.#sources.set(
      source,
      source.onChange((change) => this.#changed(change)),
    )
    this.#changed('all')
    return () => {
      this.#sources.get(source)?.()
      this.#sources.delete(source)
      this.#changed('all')
    }
  }

  get routes(): ReadonlyMap<string, ExposureRoute> {
    return new Map([...this.#sources.keys()].flatMap(({ routes }) => [...routes]))
  }

  find(host: string): ExposureRoute | undefined {
    for (const source of this.#sources.keys()) {
      const route = source.find(host)
      if (route) return route
    }
    return undefined
  }

  onChange(listener: (change: RouteChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #changed(change: RouteChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}
