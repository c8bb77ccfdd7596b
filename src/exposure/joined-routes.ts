import type { ExposureRoute } from './plan-routes.ts'
import type { RouteSource } from './route-mirror.ts'

/** The routes of all clusters behind one edge. A host has its cluster's ID in it, so no two clusters have the same. */
export class JoinedRoutes implements RouteSource {
  readonly #sources = new Map<RouteSource, () => void>()
  readonly #listeners = new Set<() => void>()
  #routes: ReadonlyMap<string, ExposureRoute> | undefined

  /** Returns how to take the cluster's routes out again. */
  add(source: RouteSource): () => void {
    this.#sources.set(
      source,
      source.onChange(() => this.#changed()),
    )
    this.#changed()
    return () => {
      this.#sources.get(source)?.()
      this.#sources.delete(source)
      this.#changed()
    }
  }

  get routes(): ReadonlyMap<string, ExposureRoute> {
    this.#routes ??= new Map([...this.#sources.keys()].flatMap(({ routes }) => [...routes]))
    return this.#routes
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #changed(): void {
    this.#routes = undefined
    for (const listener of this.#listeners) listener()
  }
}
