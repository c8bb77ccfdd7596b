import { z } from 'zod'
import { SluiceError } from '../../../foundation/errors.ts'
import type { ModelFoldersView } from '../console-shapes.ts'
import type { ConsoleRequest, ConsoleRoute } from '../console-routes.ts'
import type { ConsoleWorld } from '../console-world.ts'
import { jsonBody } from '../request-body.ts'
import type { Arrivals } from './arrivals.ts'
import { type ModelMaker, newModelFields } from './new-model.ts'

const addedModel = z.object({
  ...newModelFields,
  /** `pvc://…` for files that are there, else an address that is fetched first. */
  source: z.string().min(1).max(2_048),
})
type AddedModel = z.infer<typeof addedModel>

/** Adds models: from files that are there, or from an address. */
export class AddModel {
  readonly #world: ConsoleWorld
  readonly #maker: ModelMaker
  readonly #arrivals: Arrivals

  constructor(world: ConsoleWorld, maker: ModelMaker, arrivals: Arrivals) {
    this.#world = world
    this.#maker = maker
    this.#arrivals = arrivals
  }

  get routes(): readonly ConsoleRoute[] {
    return [
      { method: 'POST', pattern: 'models', run: (asked) => this.#add(asked) },
      { method: 'GET', pattern: 'model-folders', run: () => this.#folders() },
    ]
  }

  async #folders(): Promise<ModelFoldersView> {
    return (await this.#world.modelFolders?.()) ?? { root: '', folders: [] }
  }

  async #add(asked: ConsoleRequest): Promise<object> {
    const model = await jsonBody(asked.request, addedModel)
    const { name, source } = model
    if (source.startsWith('pvc://')) {
      await this.#maker.create(asked, model, source, asked.signal)
      return { model: name }
    }
    await this.#maker.rehearse(model, asked.signal)
    this.#pull(asked, model)
    return { pull: name }
  }

  #pull(asked: ConsoleRequest, model: AddedModel): void {
    const { pulls, readOnly } = this.#world
    const { name, source } = model
    if (readOnly !== undefined || !pulls) {
      throw new SluiceError('console_action_unavailable', { reason: readOnly ?? 'models cannot be fetched from here' })
    }
    pulls.check(source)
    const arrival = this.#arrivals.begin(name, source, 'fetched')
    pulls
      .fetch(source, name, { signal: arrival.signal, onProgress: arrival.progress })
      .then((url) => this.#maker.create(asked, model, url, arrival.signal))
      .then(arrival.done, arrival.failed)
  }
}
