import { SluiceError } from '../../foundation/errors.ts'
import type { ListedModel, ModelCatalog, NamedModel } from '../../traffic/model-catalog.ts'

/** What a request's key allows. */
export interface Grant {
  /** The name of the ApiKey; `undefined` if no keys are required. */
  readonly key: string | undefined
  /** The models that may be used; `undefined` means all. */
  readonly models: ReadonlySet<string> | undefined
}

/** The grant of every request if no keys are required. */
export const openGrant: Grant = { key: undefined, models: undefined }

const mostNamed = 20

/** The models that one request may use. */
export class GrantedModels {
  readonly #catalog: ModelCatalog
  readonly #grant: Grant

  constructor(catalog: ModelCatalog, grant: Grant) {
    this.#catalog = catalog
    this.#grant = grant
  }

  /** The names that may be used; with a Model go its other names. */
  list(): readonly ListedModel[] {
    const { models } = this.#grant
    const all = this.#catalog.list()
    return models ? all.filter(({ id, model }) => models.has(id) || models.has(model.name)) : all
  }

  /** The names of Models, without those under which they are served, too. */
  ownNames(): readonly string[] {
    return this.list().flatMap(({ id, kind }) => (kind === 'model' ? [id] : []))
  }

  /**
   * A model that the key does not allow is refused whether it exists or not, so that a key reveals only its own models.
   */
  find(name: string): NamedModel {
    const { models } = this.#grant
    const found = this.#catalog.find(name)
    if (models && !models.has(name) && !(found && models.has(found.model.name)))
      throw new SluiceError('model_not_allowed', { what: `the model ${shortened(name)}` })
    if (!found && !this.#catalog.synced) throw notSeenYet('Models')
    if (!found) throw new SluiceError('model_not_found', { model: shortened(name) })
    return found
  }

  /**
   * Like `find`, but knows of Models that were created a moment ago, too. It calls back before it returns if the name
   * is known, as almost always.
   */
  findNewest(name: string, goOn: (found: NamedModel) => void, fail: (error: unknown) => void): void {
    let known: NamedModel
    try {
      known = this.find(name)
    } catch (error) {
      if (!(error instanceof SluiceError) || error.code !== 'model_not_found') throw error
      this.#catalog
        .catchUp()
        .then(() => goOn(this.find(name)))
        .catch(fail)
      return
    }
    goOn(known)
  }

  /** As it is listed. */
  listed(name: string): ListedModel {
    const { model, engineName } = this.find(name)
    const kind = name === model.name ? 'model' : name === engineName ? 'adapter' : 'alias'
    return { id: name, model, engineName, kind }
  }

  /** For routes that tell about all models. */
  requireAll(what: string): void {
    if (this.#grant.models) throw new SluiceError('model_not_allowed', { what })
  }

  /** The error for a request that names no model: `how` it can name one, and which there are. */
  required(how: string): SluiceError {
    const names = this.ownNames()
    const shown = names.slice(0, mostNamed).join(', ') + (names.length > mostNamed ? ', …' : '')
    return new SluiceError('model_required', { how, models: shown || 'none yet' })
  }
}

/** The error before the cluster was read, when an unknown name proves nothing. */
export function notSeenYet(what: string): SluiceError {
  return new SluiceError('gateway_starting', { what, retryAfterSeconds: 1 })
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
