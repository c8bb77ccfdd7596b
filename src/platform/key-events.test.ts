import { describe, expect, it } from 'vitest'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { type ApiKey, apiKeyKind } from '../resources/api-key.ts'
import { eventKind } from '../resources/event.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { Informers } from './informers.ts'
import { KeyEvents, keyNews } from './key-events.ts'

const secretSha256 = 'ab'.repeat(32)
const spec: ApiKey['spec'] = {
  enterprise: 'home',
  accessKey: 'abcdefgh',
  secretSha256,
  disabled: false,
  use: 'Inference',
}
const key = (changes: Partial<ApiKey['spec']> = {}): ApiKey => ({
  apiVersion: 'sluice.dev/v1',
  kind: 'ApiKey',
  metadata: { name: 'shop' },
  spec: { ...spec, ...changes },
})

describe('what becomes of a key', () => {
  it.each([
    [{ disabled: true }, 'KeyDisabled', 'The inference key of home was disabled and is refused from now on'],
    [
      { allowedModels: ['a', 'b'], expiresAt: '2031-01-31T00:00:00Z' },
      'KeyChanged',
      'The inference key of home was changed, and is now good for the models a, b until 2031-01-31T00:00:00Z',
    ],
  ])('is told when it is changed: %j', (changes, reason, message) => {
    expect(keyNews({ type: 'updated', object: key(changes), previous: key() })).toMatchObject({ reason, message })
  })

  it('is told when it is enabled again, and is no news when nothing but its labels changes', () => {
    const enabled = { type: 'updated' as const, object: key(), previous: key({ disabled: true }) }
    expect(keyNews(enabled)?.reason).toBe('KeyEnabled')
    expect(keyNews({ type: 'updated', object: key(), previous: key() })).toBeUndefined()
  })
})

describe('Events about keys', () => {
  it('tell of those created and revoked, not of those that were there, and never of their secrets', async () => {
    const clock = new FakeClock()
    const api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock })
    const client = new EmbeddedClient(api)
    await client.create(namespaceKind, { metadata: { name: 'default' } })
    await client.create(apiKeyKind, { metadata: { name: 'old' }, spec: { ...spec, use: 'Management' } })
    const informers = new Informers({ client, clock, log: silentLogger })
    const keys = informers.add(apiKeyKind)
    await informers.start(new AbortController().signal)
    const events = new KeyEvents({ client, keys, clock, log: silentLogger })
    events.start()
    const gone = new Promise<void>((resolve) => {
      keys.onChange(({ type }) => type === 'deleted' && resolve())
    })
    await client.create(apiKeyKind, { metadata: { name: 'shop' }, spec })
    await client.delete(apiKeyKind, { name: 'shop' })
    await gone
    await events.stop()
    await informers.stop()
    const { items } = await client.list(eventKind)
    const told = items.map(({ involvedObject, reason, message }) => [involvedObject.name, reason, message])
    expect(told).toEqual(
      expect.arrayContaining([
        ['shop', 'KeyCreated', 'The inference key of home was created, good for all models without an end'],
        ['shop', 'KeyRevoked', 'The inference key of home was deleted and is refused from now on'],
      ]),
    )
    expect(told).toHaveLength(2)
    expect(JSON.stringify(items)).not.toContain(secretSha256)
  })
})
