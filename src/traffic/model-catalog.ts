import type { ObjectCache } from '../cluster/informer.ts'
import type { Model, ModelLoading, ModelPhase } from '../resources/model.ts'
import { type ServedName, servedNames } from '../resources/served-names.ts'

/** What clients may know about a Model. */
export interface CatalogModel {
  readonly name: string
  readonly owner: string | undefined
  readonly createdAtMs: number
  readonly phase: ModelPhase
  readonly message: string | undefined
  /** One word for what is the matter, such as `Loading` or `FilesMissing`. */
  readonly reason?: string
  /** What it can do. */
  readonly features?: Model['spec']['features']
  /** Whether its engine answers `/v1/responses` itself. */
  readonly hasResponses?: boolean
  /** How far it is, while it loads and that is known. */
  readonly loading?: ModelLoading
  /** How long its last load took. */
  readonly lastLoadSeconds?: number
}

/** What a name that a request says stands for. */
export interface NamedModel {
  readonly model: CatalogModel
  /** The name that the model's engine knows. */
  readonly engineName: string
}

/** A name in the list of models: a Model's own, or another that it is served under. */
export interface ListedModel extends NamedModel {
  readonly id: string
  readonly kind: ServedName['kind']
}

export interface ModelCatalog {
  /** False until the cluster's Models were read: before that, an unknown name proves nothing. */
  readonly synced: boolean
  /** The Model of this name. */
  get(name: string): CatalogModel | undefined
  /** The Model that this name stands for: its own, an alias, or an adapter's. */
  find(name: string): NamedModel | undefined
  /** Sorted by name, with aliases and adapters. */
  list(): readonly ListedModel[]
  /** Resolves when it has heard of every Model that exists by now, or within seconds if that cannot be found out. */
  catchUp(): Promise<void>
}

export interface ClusterModelCatalogOptions {
  readonly models: ObjectCache<Model>
  readonly namespace: string
  /** Lets `models` hear of everything that exists by now. Without it they are taken as they are. */
  readonly catchUp?: (() => Promise<void>) | undefined
}

/** The Models of the gateway's namespace. They are described when they change, because every request looks one up. */
export class ClusterModelCatalog implements ModelCatalog {
  readonly #models: ObjectCache<Model>
  readonly #namespace: string
  readonly #catchUp: (() => Promise<void>) | undefined
  readonly #described = new Map<string, CatalogModel>()
  /** Made anew when it is needed after Models have changed. */
  #names: ReadonlyMap<string, ServedName> | undefined

  constructor(options: ClusterModelCatalogOptions) {
    this.#models = options.models
    this.#namespace = options.namespace
    this.#catchUp = options.catchUp
    for (const model of options.models.list()) this.#see(model)
    options.models.onChange(({ type, object }) => (type === 'deleted' ? this.#forget(object) : this.#see(object)))
  }

  get synced(): boolean {
    return this.#models.synced
  }

  get(name: string): CatalogModel | undefined {
    return this.#described.get(name)
  }

  find(name: string): NamedModel | undefined {
    // Almost every request names a Model itself.
    const own = this.#described.get(name)
    if (own) return { model: own, engineName: name }
    const served = this.#servedNames().get(name)
    const model = served && this.#described.get(served.model)
    return model && { model, engineName: served.engineName }
  }

  list(): readonly ListedModel[] {
    const listed: ListedModel[] = []
    for (const [id, { model: name, engineName, kind }] of this.#servedNames()) {
      const model = this.#described.get(name)
      if (model) listed.push({ id, model, engineName, kind })
    }
    return listed.sort((one, other) => (one.id < other.id ? -1 : 1))
  }

  async catchUp(): Promise<void> {
    await this.#catchUp?.()
  }

  #servedNames(): ReadonlyMap<string, ServedName> {
    this.#names ??= servedNames(this.#models.list().filter(({ metadata }) => metadata.namespace === this.#namespace))
    return this.#names
  }

  #see(model: Model): void {
    const { name, namespace } = model.metadata
    this.#names = undefined
    if (namespace === this.#namespace) this.#described.set(name, describe(model))
  }

  #forget({ metadata: { name, namespace } }: Model): void {
    this.#names = undefined
    if (namespace === this.#namespace) this.#described.delete(name)
  }
}

function describe({ metadata, spec, status }: Model): CatalogModel {
  const reason = reasonOf(status)
  return {
    name: metadata.name,
    owner: spec.owner,
    createdAtMs: metadata.creationTimestamp ? Date.parse(metadata.creationTimestamp) : 0,
    phase: status?.phase ?? 'Asleep',
    message: status?.message,
    ...(reason === undefined ? {} : { reason }),
    features: spec.features,
    ...(status?.interfaces?.includes('responses') ? { hasResponses: true } : {}),
    ...(status?.loading === undefined ? {} : { loading: status.loading }),
    ...(status?.lastLoadSeconds === undefined ? {} : { lastLoadSeconds: status.lastLoadSeconds }),
  }
}

/** Files that are still being fetched are not missing for somebody who waits. */
function reasonOf(status: Model['status']): string | undefined {
  const reasons = new Map(status?.conditions?.map(({ type, reason }) => [type, reason]))
  const reason = reasons.get('Ready')
  return reason === 'FilesMissing' && reasons.get('FilesPresent') === 'OnTheirWay' ? 'FilesOnTheirWay' : reason
}
