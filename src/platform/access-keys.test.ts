import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { FakeClock } from '../foundation/fake-clock.ts'
import type { KeyPair } from '../management/key-pair.ts'
import { KeyRing } from '../management/key-ring.ts'
import { coreKinds, customKinds } from '../resources/all-kinds.ts'
import { apiKeyKind } from '../resources/api-key.ts'
import { HeldObjects } from '../resources/object-cache.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { AccessKeys, renewCredentialsFile } from './access-keys.ts'

function setUp() {
  const clock = new FakeClock()
  const api = new ClusterApi({ store: new MemoryStore(), kinds: [...coreKinds, ...customKinds], clock })
  const client = new EmbeddedClient(api)
  const keys = new AccessKeys({ ask: (request) => request(client), close: () => {} }, () => clock.now())
  /** How the management API judges the pair at this moment. */
  const judge = async (pair: KeyPair) => {
    const held = new HeldObjects<Awaited<ReturnType<AccessKeys['list']>>[number]>()
    for (const key of (await client.list(apiKeyKind)).items) held.put(key)
    return new KeyRing(held, () => clock.now()).judge(pair).outcome
  }
  return { clock, client, keys, judge }
}

const hour = 3_600_000

describe('AccessKeys', () => {
  it('makes a pair that opens, of which only the hash is kept, until it is disabled', async () => {
    const { client, keys, judge } = setUp()
    const pair = await keys.create({ name: 'billing', enterprise: 'home', expiresAtMs: undefined })
    expect(await judge(pair)).toBe('right')
    expect(JSON.stringify((await client.list(apiKeyKind)).items)).not.toContain(pair.secretKey)
    await keys.disable('billing', true)
    expect(await judge(pair)).toBe('disabled')
    await keys.disable(pair.accessKey, false)
    expect(await judge(pair)).toBe('right')
  })

  it('rotates with two secrets that open, of which the older one ends by itself', async () => {
    const { clock, keys, judge } = setUp()
    const first = await keys.create({ name: 'billing', enterprise: 'home', expiresAtMs: undefined })
    const second = await keys.rotate('billing', hour)
    expect(second.accessKey).toBe(first.accessKey)
    expect([await judge(first), await judge(second)]).toEqual(['right', 'right'])
    await expect(keys.rotate('billing', hour)).rejects.toMatchObject({ code: 'key_being_rotated' })
    expect([await judge(first), await judge(second)]).toEqual(['right', 'right'])
    await clock.advance(hour)
    expect([await judge(first), await judge(second)]).toEqual(['wrong', 'right'])
    const third = await keys.rotate('billing', hour)
    expect([await judge(first), await judge(second), await judge(third)]).toEqual(['wrong', 'right', 'right'])
    await keys.finishRotation('billing')
    expect([await judge(second), await judge(third)]).toEqual(['wrong', 'right'])
    const last = await keys.rotate('billing', 0)
    expect([await judge(third), await judge(last)]).toEqual(['wrong', 'right'])
  })

  it('knows no keys for inference, and says which name there is not', async () => {
    const { client, keys } = setUp()
    const spec = { enterprise: 'home', accessKey: 'abcdefgh', secretSha256: '0'.repeat(64), use: 'Inference' }
    await client.create(apiKeyKind, { metadata: { name: 'web-shop' }, spec })
    expect(await keys.list()).toEqual([])
    await expect(keys.rotate('web-shop', 0)).rejects.toMatchObject({ code: 'access_key_not_found' })
    await expect(keys.disable('abcdefgh', true)).rejects.toThrow('abcdefgh')
  })
})

describe('the file of credentials', () => {
  it('gets the new secret of its own key, keeps the rest, and stays its owner’s alone', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-credentials-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, 'credentials.json')
    expect(await renewCredentialsFile(path, { accessKey: 'a', secretKey: 'new' })).toBe(false)
    writeFileSync(path, JSON.stringify({ accessKey: 'a', secretKey: 'old', enterprise: 'home' }))
    expect(await renewCredentialsFile(path, { accessKey: 'b', secretKey: 'new' })).toBe(false)
    expect(await renewCredentialsFile(path, { accessKey: 'a', secretKey: 'new' })).toBe(true)
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ accessKey: 'a', secretKey: 'new', enterprise: 'home' })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    writeFileSync(path, 'no JSON')
    expect(await renewCredentialsFile(path, { accessKey: 'a', secretKey: 'new' })).toBe(false)
  })
})
