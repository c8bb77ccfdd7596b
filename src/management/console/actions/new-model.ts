import { z } from 'zod'
import { type Model, modelKind } from '../../../resources/model.ts'
import type { ConsoleRequest } from '../console-routes.ts'
import type { ConsoleWorld } from '../console-world.ts'
import type { Changes } from './changes.ts'

/** What is asked of a Model that is to be made, besides where its files are. */
export const newModelFields = {
  name: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be lower-case letters, digits and dashes'),
  engine: z.string().min(1).max(63).default('LlamaCpp'),
  resourceProfile: z.string().min(1).max(317).default('default:1'),
  minReplicas: z.int().min(0).default(0),
  maxReplicas: z.int().min(1).default(1),
}
const newModel = z.object(newModelFields)
export type NewModel = z.infer<typeof newModel>

/** Makes Models of files that are there, or will be. */
export class ModelMaker {
  readonly #world: ConsoleWorld
  readonly #changes: Changes

  constructor(world: ConsoleWorld, changes: Changes) {
    this.#world = world
    this.#changes = changes
  }

  /** Throws if the cluster would refuse such a Model: nothing is fetched for one that cannot be made. */
  async rehearse(model: NewModel, signal: AbortSignal): Promise<void> {
    await this.#world.rehearsal?.create(modelKind, this.#manifest(model, 'pvc://userdata/models/new'), signal)
  }

  async create(asked: ConsoleRequest, model: NewModel, url: string, signal: AbortSignal): Promise<void> {
    const { namespace, client } = this.#world
    await this.#changes.make(asked, 'create', { resource: 'models', namespace, name: model.name }, () =>
      client.create(modelKind, this.#manifest(model, url), signal),
    )
  }

  #manifest({ name, engine, resourceProfile, minReplicas, maxReplicas }: NewModel, url: string) {
    const spec: Partial<Model['spec']> = { url, engine, resourceProfile, minReplicas, maxReplicas }
    return { metadata: { name, namespace: this.#world.namespace }, spec }
  }
}
