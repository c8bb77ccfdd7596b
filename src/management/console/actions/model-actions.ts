import { z } from 'zod'
import { SluiceError } from '../../../foundation/errors.ts'
import { type Model, modelKind } from '../../../resources/model.ts'
import type { ConsoleWorld } from '../console-world.ts'
import type { ConsoleRequest, ConsoleRoute } from '../console-routes.ts'
import { jsonBody } from '../request-body.ts'
import type { Changes } from './changes.ts'
import { foundModel } from './model-manifest.ts'

const scaleBody = z.object({ replicas: z.int('must be a whole number').min(0, 'must be at least 0') })

/**
 * Wake, sleep, scale: each writes the scale of a Model, as `kubectl scale` does, and the autoscaler goes on from there.
 * A Model that is removed leaves its files behind.
 */
export function modelActions(world: ConsoleWorld, changes: Changes): readonly ConsoleRoute[] {
  const found = (asked: ConsoleRequest) => foundModel(world, asked)
  const scale = async (asked: ConsoleRequest, model: Model, replicas: number) => {
    const { name } = model.metadata
    const ref = { namespace: world.namespace, name }
    const object = { resource: 'models', subresource: 'scale', ...ref } as const
    await changes.make(asked, 'patch', object, () => world.client.scale(modelKind, ref, replicas, asked.signal))
    return { model: name, replicas }
  }
  return [
    {
      method: 'POST',
      pattern: 'models/:model/wake',
      run: (asked) => {
        const model = found(asked)
        return scale(asked, model, Math.max(1, model.spec.minReplicas, model.spec.replicas ?? 0))
      },
    },
    {
      method: 'POST',
      pattern: 'models/:model/sleep',
      run: (asked) => {
        const model = found(asked)
        const { minReplicas } = model.spec
        if (minReplicas > 0) {
          const reason = `${model.metadata.name} keeps at least ${minReplicas} replicas awake; set minReplicas to 0 first.`
          throw new SluiceError('console_input', { reason })
        }
        return scale(asked, model, 0)
      },
    },
    {
      method: 'POST',
      pattern: 'models/:model/scale',
      run: async (asked) => {
        const model = found(asked)
        const { replicas } = await jsonBody(asked.request, scaleBody)
        const { minReplicas, maxReplicas } = model.spec
        if (replicas < minReplicas || replicas > maxReplicas) {
          const reason = `${model.metadata.name} has between ${minReplicas} and ${maxReplicas} replicas (minReplicas, maxReplicas).`
          throw new SluiceError('console_input', { reason })
        }
        return scale(asked, model, replicas)
      },
    },
    {
      method: 'DELETE',
      pattern: 'models/:model',
      run: async (asked) => {
        const { name, uid } = found(asked).metadata
        const ref = { namespace: world.namespace, name }
        await changes.make(asked, 'delete', { resource: 'models', ...ref }, () =>
          world.client.delete(modelKind, ref, { uid }, asked.signal),
        )
        return {}
      },
    },
  ]
}
