import type { ObjectCache } from '../cluster/informer.ts'
import type { Model, ModelPhase } from '../resources/model.ts'

/** What clients may know about a Model. */
export interface CatalogModel {
  readonly name: string
  readonly owner: string | undefined
  readonly createdAtMs: number
  readonly phase: ModelPhase
  readonly message: string | undefined
}

export interface ModelCatalog {
  /** False until the cluster's Models were read: before that, an unknown name proves nothing. */
  readonly synced: boolean
  get(name: string): CatalogModel | undefined
  /** Sorted by name. */
  list(): readonly CatalogModel[]
}

/** The Models of the gateway's namespace. They are described when they change, because every request looks one up. */
export class ClusterModelCatalog implements ModelCatalog {
  readonly #models: ObjectCache<Model>
  readonly #namespace: string
  readonly #described = new Map<string, CatalogModel>()

  constructor(options: { readonly models: ObjectCache<Model>; readonly namespace: string }) {
    this.#models = options.models
    this.#namespace = options.namespace
    for (const model of options.models.list()) this.#see(model)
    options.models.onChange(({ type, object }) => (type === 'deleted' ? this.#forget(object) : this.#see(object)))
  }

  get synced(): boolean {
    return this.#models.synced
  }

  get(name: string): CatalogModel | undefined {
    return this.#described.get(name)
  }

  list(): readonly CatalogModel[] {
    return [...this.#described.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  #see(model: Model): void {
    const { name, namespace } = model.metadata
    if (namespace === this.#namespace) this.#described.set(name, describe(model))
  }

  #forget({ metadata: { name, namespace } }: Model): void {
    if (namespace === this.#namespace) this.#described.delete(name)
  }
}

function describe({ metadata, spec, status }: Model): CatalogModel {
  return {
    name: metadata.name,
    owner: spec.owner,
    createdAtMs: metadata.creationTimestamp ? Date.parse(metadata.creationTimestamp) : 0,
    phase: status?.phase ?? 'Asleep',
    message: status?.message,
  }
}
