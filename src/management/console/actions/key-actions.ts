import { z } from 'zod'
import type { Clock } from '../../../foundation/clock.ts'
import { SluiceError } from '../../../foundation/errors.ts'
import { apiKeyKind, apiKeyUses } from '../../../resources/api-key.ts'
import { timestamp } from '../../../resources/kubernetes-object.ts'
import { apiKeySpec, generateKeyPair } from '../../key-pair.ts'
import type { NewKeyView } from '../console-shapes.ts'
import type { ConsoleRequest, ConsoleRoute } from '../console-routes.ts'
import type { ConsoleWorld } from '../console-world.ts'
import { jsonBody } from '../request-body.ts'
import type { Changes } from './changes.ts'

const dayMs = 86_400_000

const newKey = z.object({
  name: z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be lower-case letters, digits and dashes'),
  use: z.enum(apiKeyUses),
  /** Without it, all Models. */
  models: z.array(z.string().min(1)).min(1).max(1_000).optional(),
  /** Without it, the key does not expire. */
  days: z.int().min(1, 'must be at least 1').max(3_650, 'must be at most 3650').optional(),
})

/** Makes and revokes keys of the enterprise whose console this is. */
export function keyActions(world: ConsoleWorld, changes: Changes, clock: Clock): readonly ConsoleRoute[] {
  return [
    { method: 'POST', pattern: 'keys', run: (asked) => create(world, changes, clock, asked) },
    { method: 'DELETE', pattern: 'keys/:key', run: (asked) => revoke(world, changes, asked) },
  ]
}

async function create(
  { client, makeBearerKey }: ConsoleWorld,
  changes: Changes,
  clock: Clock,
  asked: ConsoleRequest,
): Promise<NewKeyView> {
  const { name, use, models, days } = await jsonBody(asked.request, newKey)
  const { enterprise } = asked.user
  const expiry = days === undefined ? {} : { expiresAt: timestamp(clock.now() + days * dayMs) }
  const write = (spec: object) =>
    changes.make(asked, 'create', { resource: 'apikeys', name }, () =>
      client.create(apiKeyKind, { metadata: { name }, spec: { ...spec, ...expiry } }, asked.signal),
    )
  if (use === 'Management') {
    const pair = generateKeyPair()
    await write(apiKeySpec(pair, enterprise))
    return { name, use, accessKey: pair.accessKey, secret: pair.secretKey }
  }
  if (!makeBearerKey) throw new SluiceError('console_action_unavailable', { reason: 'there is no gateway here' })
  const { accessKey, secretSha256, text } = makeBearerKey()
  const allowed = models === undefined ? {} : { allowedModels: models }
  await write({ enterprise, accessKey, secretSha256, disabled: false, use, ...allowed })
  return { name, use, accessKey, secret: text }
}

async function revoke({ client, caches }: ConsoleWorld, changes: Changes, asked: ConsoleRequest): Promise<object> {
  const name = asked.param('key')
  const key = caches.keys.get({ name })
  // Another enterprise's key is refused with the same words as one that does not exist.
  if (key?.spec.enterprise !== asked.user.enterprise) {
    throw new SluiceError('console_object_missing', { what: 'key', name })
  }
  if (name === asked.user.name) {
    throw new SluiceError('console_input', {
      reason: 'You are logged in with this key. Log in with another to revoke it.',
    })
  }
  await changes.make(asked, 'delete', { resource: 'apikeys', name }, () =>
    client.delete(apiKeyKind, { name }, { uid: key.metadata.uid }, asked.signal),
  )
  return {}
}
