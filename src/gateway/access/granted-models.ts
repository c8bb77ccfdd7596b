import { SluiceError } from '../../foundation/errors.ts'
import type { CatalogModel, ModelCatalog } from '../../traffic/model-catalog.ts'

/** What a request may do. */
export interface Grant {
  /** The name of the ApiKey; none where keys are not asked for. */
  readonly key: string | undefined
  /** `undefined`: every model. */
  readonly models: ReadonlySet<string> | undefined
}

/** What everybody may do where keys are not asked for. */
export const openGrant: Grant = { key: undefined, models: undefined }

const mostNamed = 20

/** The models as one request may see them. */
export class GrantedModels {
  readonly #catalog: ModelCatalog
  readonly #grant: Grant

  constructor(catalog: ModelCatalog, grant: Grant) {
    this.#catalog = catalog
    this.#grant = grant
  }

  list(): readonly CatalogModel[] {
    const { models } = this.#grant
    const all = this.#catalog.list()
    return models ? all.filter(({ name }) => models.has(name)) : all
  }

  /** What a key does not allow is refused whether it exists or not: only what it allows can be found out with it. */
  find(name: string): CatalogModel {
    const { models } = this.#grant
    if (models && !models.has(name))
      throw new SluiceError('model_not_allowed', { what: `the model ${shortened(name)}` })
    const model = this.#catalog.get(name)
    if (!model && !this.#catalog.synced) throw notSeenYet('Models')
    if (!model) throw new SluiceError('model_not_found', { model: shortened(name) })
    return model
  }

  /** For what tells of every model. */
  requireAll(what: string): void {
    if (this.#grant.models) throw new SluiceError('model_not_allowed', { what })
  }

  /** Nobody said which one: `how` it can be said, and what there is to choose from. */
  required(how: string): SluiceError {
    const names = this.list().map(({ name }) => name)
    const shown = names.slice(0, mostNamed).join(', ') + (names.length > mostNamed ? ', …' : '')
    return new SluiceError('model_required', { how, models: shown || 'none yet' })
  }
}

/** Nothing can be said about a name before the cluster was seen. */
export function notSeenYet(what: string): SluiceError {
  return new SluiceError('gateway_starting', { what, retryAfterSeconds: 1 })
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
