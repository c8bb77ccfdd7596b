import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { SluiceError, errorMessage } from '../../../foundation/errors.ts'
import type { Kind } from '../../../resources/kind.ts'
import type { KubernetesObject } from '../../../resources/kubernetes-object.ts'
import { type Model, modelKind } from '../../../resources/model.ts'
import type { ConsoleRequest, ConsoleRoute } from '../console-routes.ts'
import type { ConsoleWorld } from '../console-world.ts'
import { jsonBody } from '../request-body.ts'
import type { Changes } from './changes.ts'

/** Of what people write, nothing is known but that it is an object. */
const anyModel: Kind = modelKind

const sent = z.object({ yaml: z.string().min(1).max(200_000), dryRun: z.boolean().default(false) })
const manifest = z.looseObject({
  kind: z.literal('Model', 'kind must stay Model'),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
})

/** A Model as a text that a person edits. */
export function modelManifest(world: ConsoleWorld, changes: Changes): readonly ConsoleRoute[] {
  return [
    {
      method: 'GET',
      pattern: 'models/:model/manifest',
      run: (asked) => ({ yaml: manifestOf(foundModel(world, asked)) }),
    },
    { method: 'PUT', pattern: 'models/:model/manifest', run: (asked) => save(world, changes, asked) },
  ]
}

/**
 * With the version that was read: if somebody else changes the Model meanwhile, saving is refused instead of undoing
 * that.
 */
function manifestOf({ apiVersion, kind, metadata, spec }: Model): string {
  const { name, namespace, labels, annotations, resourceVersion } = metadata
  // Written by the autoscaler, and not for people.
  const { replicas: _replicas, ...wanted } = spec
  return stringify({
    apiVersion,
    kind,
    metadata: { name, namespace, labels, annotations, resourceVersion },
    spec: wanted,
  })
}

async function save(world: ConsoleWorld, changes: Changes, asked: ConsoleRequest): Promise<object> {
  const model = foundModel(world, asked)
  const { yaml, dryRun } = await jsonBody(asked.request, sent)
  const object = edited(model, parsed(yaml))
  if (dryRun) {
    if (!world.rehearsal)
      throw new SluiceError('console_action_unavailable', { reason: 'changes cannot be tried here' })
    await world.rehearsal.update(anyModel, object, asked.signal)
    return { saved: false }
  }
  const { name } = model.metadata
  await changes.make(asked, 'update', { resource: 'models', namespace: world.namespace, name }, () =>
    world.client.update(anyModel, object, asked.signal),
  )
  return { saved: true }
}

function parsed(yaml: string): z.infer<typeof manifest> {
  let value: unknown
  try {
    value = parse(yaml, { maxAliasCount: 100 })
  } catch (error) {
    throw new SluiceError('console_input', { reason: `This is not YAML: ${errorMessage(error)}` }, { cause: error })
  }
  const { data, error } = manifest.safeParse(value)
  if (data) return data
  throw new SluiceError('console_input', { reason: error.issues[0]?.message ?? 'This is not a Model.' })
}

/** The fields as they were sent: the cluster refuses what is wrong with them, in words about each. */
function edited(model: Model, { metadata, ...rest }: z.infer<typeof manifest>): KubernetesObject {
  const { name, namespace } = model.metadata
  if (metadata.name !== name || (metadata.namespace ?? namespace) !== namespace) {
    throw new SluiceError('console_input', { reason: `The name must stay ${name}. Add another model instead.` })
  }
  const { replicas } = model.spec
  const spec = { ...(isRecord(rest['spec']) ? rest['spec'] : {}), ...(replicas === undefined ? {} : { replicas }) }
  return { apiVersion: model.apiVersion, ...rest, metadata: { ...metadata, name, namespace }, spec }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function foundModel({ caches, namespace }: ConsoleWorld, asked: ConsoleRequest): Model {
  const name = asked.param('model')
  const model = caches.models.get({ namespace, name })
  if (!model) throw new SluiceError('console_object_missing', { what: 'Model', name })
  return model
}
