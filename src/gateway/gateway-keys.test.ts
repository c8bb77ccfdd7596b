import OpenAI, { AuthenticationError, PermissionDeniedError } from 'openai'
import { describe, expect, it } from 'vitest'
import type { ApiKey } from '../resources/api-key.ts'
import { FakeCache, fakeModel } from '../traffic/cluster-view.fixture.ts'
import { bearerKeyText, generateBearerKey, secretDigest } from './access/bearer-key.ts'
import { postJson, startGateway, startUpstream, until } from './gateway.fixture.ts'

const chat = '/openai/v1/chat/completions'
const ask = (model: string) => ({ model, messages: [{ role: 'user' as const, content: 'Hi' }] })

function makeKey(name: string, spec: Partial<ApiKey['spec']> = {}) {
  const key = generateBearerKey()
  const object: ApiKey = {
    apiVersion: 'sluice.dev/v1',
    kind: 'ApiKey',
    metadata: { name },
    spec: {
      enterprise: 'home',
      accessKey: key.accessKey,
      secretSha256: secretDigest(key.secret).toString('hex'),
      disabled: false,
      use: 'Inference',
      ...spec,
    },
  }
  return { ...key, object, text: bearerKeyText(key) }
}

async function setUp() {
  const upstream = await startUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"chat.completion","choices":[]}')
  })
  const keys = new FakeCache<ApiKey>()
  const full = makeKey('full')
  const narrow = makeKey('narrow', { allowedModels: ['tiny', 'gone'] })
  keys.put(full.object)
  keys.put(narrow.object)
  const gateway = await startGateway({
    gateway: { keys },
    models: [fakeModel('tiny'), fakeModel('other')],
  })
  gateway.addPod('one', upstream.port)
  gateway.addPod('two', upstream.port, 'other')
  const post = (key: string | undefined, model = 'tiny', path = chat) =>
    postJson(gateway.url + path, ask(model), key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } })
  const get = (path: string, key?: string) =>
    fetch(gateway.url + path, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } })
  return { ...gateway, upstream, keys, full, narrow, post, get }
}

describe('a gateway that asks for keys', () => {
  it('serves who has one, and keeps it from the model’s server and the log', async () => {
    const { post, full, upstream, requestLines } = await setUp()
    expect((await post(full.text)).status).toBe(200)
    expect(upstream.received[0]?.headers['authorization']).toBeUndefined()
    await until(() => requestLines().length > 0)
    expect(requestLines()[0]).toMatchObject({ key: 'full', status: 200 })
    expect(JSON.stringify([requestLines(), upstream.received])).not.toContain(full.secret)
  })

  it.each(['x-api-key', 'api-key'])('takes it from %s where there is no Authorization', async (field) => {
    const { url, full, upstream } = await setUp()
    const asked = (headers: Record<string, string>) => postJson(url + chat, ask('tiny'), { headers })
    expect((await asked({ [field]: full.text })).status).toBe(200)
    expect(JSON.stringify(upstream.received)).not.toContain(full.secret)
    expect((await asked({ [field]: 'dummy' })).status).toBe(401)
    expect((await asked({ [field]: full.text, authorization: 'Bearer dummy' })).status).toBe(401)
  })

  it.each([
    ['no key', () => undefined],
    ['a dummy', () => 'dummy'],
    ['a wrong secret', (key: string) => `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`],
    ['an unknown key', () => bearerKeyText(generateBearerKey())],
    ['only the access key', (key: string) => key.slice(0, 23)],
  ])('refuses %s with 401, always in the same words but for a missing one', async (_case, present) => {
    const { post, full, upstream } = await setUp()
    const response = await post(present(full.text))
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect(await response.json()).toEqual({
      error: {
        message: expect.stringMatching(/no API key was sent|the API key that was sent is not valid/),
        type: 'invalid_request_error',
        code: 'invalid_api_key',
        param: null,
      },
    })
    expect(upstream.received).toEqual([])
  })

  it('refuses a key that expired, is disabled, or opens the management API', async () => {
    const { post, keys, clock } = await setUp()
    const soon = makeKey('soon', { expiresAt: new Date(clock.now() + 60_000).toISOString() })
    const broken = makeKey('broken', { expiresAt: 'never' })
    const off = makeKey('off', { disabled: true })
    const pair = makeKey('pair', { use: 'Management' })
    for (const { object } of [soon, broken, off, pair]) keys.put(object)
    expect((await post(soon.text)).status).toBe(200)
    await clock.advance(60_000)
    expect(await (await post(soon.text)).json()).toMatchObject({ error: { code: 'api_key_expired' } })
    expect((await post(broken.text)).status).toBe(401)
    const disabled = await post(off.text)
    expect([disabled.status, await disabled.json()]).toMatchObject([403, { error: { code: 'key_disabled' } }])
    expect(await (await post(pair.text)).json()).toMatchObject({ error: { code: 'invalid_api_key' } })
  })

  it('refuses a key the moment it is revoked or disabled', async () => {
    const { post, keys, full, narrow } = await setUp()
    expect((await post(full.text)).status).toBe(200)
    keys.remove({ name: 'full' })
    expect((await post(full.text)).status).toBe(401)
    keys.put({ ...narrow.object, spec: { ...narrow.object.spec, disabled: true } })
    expect((await post(narrow.text)).status).toBe(403)
  })

  it('shows and serves the models that a key allows, and tells nothing of others', async () => {
    const { post, get, full, narrow } = await setUp()
    const names = async (key: string) => {
      const { data } = (await (await get('/v1/models', key)).json()) as { data: Array<{ id: string }> }
      return data.map(({ id }) => id)
    }
    expect([await names(full.text), await names(narrow.text)]).toEqual([['other', 'tiny'], ['tiny']])
    expect((await post(narrow.text)).status).toBe(200)
    const [existing, missing] = [await post(narrow.text, 'other'), await post(narrow.text, 'nope')]
    expect([existing.status, missing.status]).toEqual([403, 403])
    const told = [await existing.text(), await missing.text()].map((text) => text.replace(/other|nope/, 'X'))
    expect(told[0]).toBe(told[1])
    expect((await post(narrow.text, 'gone')).status).toBe(404)
    expect([
      (await get('/v1/models/other', narrow.text)).status,
      (await get('/v1/models/tiny', narrow.text)).status,
    ]).toEqual([403, 200])
    // The only model that the key allows needs no naming.
    expect((await get('/openai/api/v1/x', narrow.text)).status).toBe(200)
    expect((await get('/openai/api/v1/x?model=other', narrow.text)).status).toBe(403)
    const unnamed = await post(narrow.text, '')
    expect(await unnamed.json()).toMatchObject({ error: { message: expect.stringMatching(/Models here: tiny\.$/) } })
  })

  it('tells its health to everybody, its metrics to keys that allow everything', async () => {
    const { get, full, narrow } = await setUp()
    expect([(await get('/healthz')).status, (await get('/readyz')).status]).toEqual([200, 200])
    const statuses = [undefined, narrow.text, full.text].map(async (key) => (await get('/metrics', key)).status)
    expect(await Promise.all(statuses)).toEqual([401, 403, 200])
  })

  it('is not ready, and refuses nobody for good, before it has seen the keys', async () => {
    const { get, post, keys, full } = await setUp()
    keys.synced = false
    expect((await get('/readyz')).status).toBe(503)
    const response = await post(full.text)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toMatchObject({ error: { code: 'gateway_starting' } })
  })

  it('speaks to OpenAI’s own client as OpenAI does', async () => {
    const { url, full, narrow } = await setUp()
    const client = (apiKey: string) => new OpenAI({ baseURL: `${url}/openai/v1`, apiKey, maxRetries: 0 })
    expect((await client(full.text).chat.completions.create(ask('tiny'))).object).toBe('chat.completion')
    const refused = await client('sk-wrong')
      .models.list()
      .catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(AuthenticationError)
    expect(refused).toMatchObject({ status: 401, code: 'invalid_api_key', type: 'invalid_request_error' })
    const denied = await client(narrow.text)
      .chat.completions.create(ask('other'))
      .catch((error: unknown) => error)
    expect(denied).toBeInstanceOf(PermissionDeniedError)
    expect(denied).toMatchObject({ status: 403, code: 'model_not_allowed', param: 'model' })
  })
})
