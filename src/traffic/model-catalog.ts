import type { ObjectCache } from '../cluster/informer.ts'
import type { Model, ModelPhase } from '../resources/model.ts'

/** What a client may know of a Model. */
export interface CatalogModel {
  readonly name: string
  readonly owner: string | undefined
  readonly createdAtMs: number
  readonly phase: ModelPhase
  readonly message: string | undefined
}

export interface ModelCatalog {
  /** False until the cluster's Models have been seen: an unknown name then says nothing. */
  readonly synced: boolean
  get(name: string): CatalogModel | undefined
  /** Sorted by name. */
  list(): readonly CatalogModel[]
}

/** The Models of the gateway's namespace. */
export class ClusterModelCatalog implements ModelCatalog {
  readonly #models: ObjectCache<Model>
  readonly #namespace: string

  constructor(options: { readonly models: ObjectCache<Model>; readonly namespace: string }) {
    this.#models = options.models
    this.#namespace = options.namespace
  }

  get synced(): boolean {
    return this.#models.synced
  }

  get(name: string): CatalogModel | undefined {
    const model = this.#models.get({ namespace: this.#namespace, name })
    return model && describe(model)
  }

  list(): readonly CatalogModel[] {
    return this.#models
      .list()
      .filter(({ metadata }) => metadata.namespace === this.#namespace)
      .map(describe)
      .sort((one, other) => (one.name < other.name ? -1 : 1))
  }
}

/** Every request asks; what is described is what is cached, so its description can be kept as long. */
const described = new WeakMap<Model, CatalogModel>()

function describe(model: Model): CatalogModel {
  const known = described.get(model)
  if (known) return known
  const { metadata, spec, status } = model
  const description = {
    name: metadata.name,
    owner: spec.owner,
    createdAtMs: metadata.creationTimestamp ? Date.parse(metadata.creationTimestamp) : 0,
    phase: status?.phase ?? 'Asleep',
    message: status?.message,
  }
  described.set(model, description)
  return description
}
