import { type Kind, resourceNameOf } from '../resources/kind.ts'
import { StatusError } from '../resources/status-error.ts'
import type { WatchLife } from './reading/object-watch.ts'

/** The kinds a cluster serves: those it was built with, and those that CustomResourceDefinitions add while it runs. */
export class KindRegistry {
  readonly #fixed: readonly Kind[]
  readonly #added = new Map<string, readonly Kind[]>()
  readonly #listeners = new Set<() => void>()
  #list: readonly Kind[]
  #byPath: ReadonlyMap<string, Kind>
  #served = new WeakMap<Kind, Kind>()

  constructor(fixed: readonly Kind[]) {
    this.#fixed = fixed
    this.#list = fixed
    this.#byPath = pathsOf(fixed)
  }

  /** The same array until something changes, so that whatever is derived from it can be cached. */
  list(): readonly Kind[] {
    return this.#list
  }

  find(group: string, version: string, plural: string): Kind | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`)
  }

  /**
   * The kind as this cluster serves it: the caller may hold one of the same name that was not made from the definition.
   */
  resolve(kind: Kind): Kind {
    let served = this.#served.get(kind)
    if (!served) {
      served = this.find(kind.group, kind.version, kind.plural) ?? kind
      this.#served.set(kind, served)
    }
    return served
  }

  /** The same for a kind in a request: NotFound when a custom kind is no longer served. */
  served(kind: Kind): Kind {
    const served = this.resolve(kind)
    if (served !== kind || kind.origin === 'core') return served
    if (this.find(kind.group, kind.version, kind.plural)) return served
    throw new StatusError('NotFound', 'the server could not find the requested resource')
  }

  /** Serves these versions of a resource in place of the previous ones; an empty list stops serving it. */
  set(resource: string, kinds: readonly Kind[]): void {
    if (kinds.length === 0 && !this.#added.has(resource)) return
    if (kinds.length > 0) this.#added.set(resource, kinds)
    else this.#added.delete(resource)
    const added = [...this.#added.values()].flat()
    this.#list = [...this.#fixed.filter((kind) => !this.#added.has(resourceNameOf(kind))), ...added]
    this.#byPath = pathsOf(this.#list)
    this.#served = new WeakMap()
    for (const listener of this.#listeners) listener()
  }

  /**
   * A signal that is aborted when `signal` is, or when the kind is no longer served. Release it when it is no longer
   * needed.
   */
  whileServed({ group, version, plural }: Kind, signal: AbortSignal): WatchLife {
    const gone = new AbortController()
    const release = this.onChange(() => {
      if (!this.find(group, version, plural)) gone.abort()
    })
    return { signal: AbortSignal.any([signal, gone.signal]), release }
  }

  /** Called after every change, when the new list is in place. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

function pathsOf(kinds: readonly Kind[]): ReadonlyMap<string, Kind> {
  return new Map(kinds.map((kind) => [`${kind.group}/${kind.version}/${kind.plural}`, kind]))
}
