import { describe, expect, it } from 'vitest'
import type { ApiKey } from '../resources/api-key.ts'
import type { Model } from '../resources/model.ts'
import { FakeCache, fakeModel } from '../traffic/cluster-view.fixture.ts'
import { bearerKeyText, generateBearerKey, secretDigest } from './access/bearer-key.ts'
import { postJson, startGateway, startUpstream } from './gateway.fixture.ts'

const messages = [{ role: 'user', content: 'Hi, "model": "gpt"' }]
const chat = '/openai/v1/chat/completions'

function aliased(name: string, spec: Partial<Model['spec']>): Model {
  const model = fakeModel(name)
  return { ...model, spec: { ...model.spec, ...spec } }
}

async function setUp(allowedModels?: string[]) {
  const upstream = await startUpstream((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[{"message":{"content":"x"}}]}')
  })
  const adapters = [{ name: 'sql', url: 'pvc://userdata/sql' }]
  const models = [aliased('tiny', { aliases: ['gpt', 'org/gpt'], adapters }), fakeModel('other')]
  const keys = new FakeCache<ApiKey>()
  const key = generateBearerKey()
  const secretSha256 = secretDigest(key.secret).toString('hex')
  const spec = {
    enterprise: 'home',
    accessKey: key.accessKey,
    secretSha256,
    disabled: false,
    use: 'Inference' as const,
  }
  keys.put({
    apiVersion: 'sluice.dev/v1',
    kind: 'ApiKey',
    metadata: { name: 'key' },
    spec: { ...spec, ...(allowedModels ? { allowedModels } : {}) },
  })
  const gateway = await startGateway({ models, gateway: allowedModels ? { keys } : {} })
  gateway.addPod('one', upstream.port)
  const headers = { authorization: `Bearer ${bearerKeyText(key)}` }
  const post = (path: string, body: unknown) => postJson(gateway.url + path, body, { headers })
  const list = async () => {
    const answer = await fetch(`${gateway.url}/v1/models`, { headers })
    const { data } = (await answer.json()) as { data: Array<{ id: string; root?: string; parent?: string }> }
    return data.map(({ id, root, parent }) => [id, root, parent])
  }
  const received = () => upstream.received.map(({ body }) => JSON.parse(body.toString()) as { model: string })
  return { ...gateway, upstream, post, list, received }
}

describe('a Model with aliases and adapters', () => {
  it('is asked for by any of them, and its engine hears the name that it knows', async () => {
    const { post, received, requestLines } = await setUp()
    for (const model of ['tiny', 'gpt', 'org/gpt', 'tiny_sql']) {
      expect((await post(chat, { messages, model, stream: false })).status).toBe(200)
    }
    expect(received()).toEqual(
      ['tiny', 'tiny', 'tiny', 'tiny_sql'].map((model) => ({ messages, model, stream: false })),
    )
    expect(requestLines().map(({ model }) => model)).toEqual(['tiny', 'tiny', 'tiny', 'tiny'])
  })

  it('is found in any body that names it: large, escaped, named twice, and as a response', async () => {
    const { post, received } = await setUp()
    const large = 'x'.repeat(300_000)
    await post(chat, `{"large":"${large}","model":"gpt"}`)
    await post(chat, String.raw`{ "m\u006fdel" : "g\u0070t" , "n":1}`)
    await post(chat, '{"model":"other","model":"gpt","a":{"model":"gpt"}}')
    expect((await post('/v1/responses', { model: 'gpt', input: 'x' })).status).toBe(200)
    expect(received()).toEqual([
      { large, model: 'tiny' },
      { model: 'tiny', n: 1 },
      { model: 'tiny', a: { model: 'gpt' } },
      { model: 'tiny', messages: [{ role: 'user', content: 'x' }] },
    ])
  })

  it('is listed under all of its names', async () => {
    const { list, url } = await setUp()
    expect(await list()).toEqual([
      ['gpt', 'tiny', undefined],
      ['org/gpt', 'tiny', undefined],
      ['other', undefined, undefined],
      ['tiny', undefined, undefined],
      ['tiny_sql', 'tiny', 'tiny'],
    ])
    const one = await fetch(`${url}/v1/models/${encodeURIComponent('org/gpt')}`)
    expect(await one.json()).toMatchObject({ id: 'org/gpt', root: 'tiny' })
  })

  it('is allowed under all of its names by a key that allows it', async () => {
    const { post, list } = await setUp(['tiny'])
    for (const model of ['tiny', 'gpt', 'tiny_sql']) expect((await post(chat, { messages, model })).status).toBe(200)
    expect((await post(chat, { messages, model: 'other' })).status).toBe(403)
    expect((await list()).map(([id]) => id)).toEqual(['gpt', 'org/gpt', 'tiny', 'tiny_sql'])
  })

  it('is allowed under one name by a key that allows only that', async () => {
    const { post, list } = await setUp(['tiny_sql', 'gone'])
    expect((await post(chat, { messages, model: 'tiny_sql' })).status).toBe(200)
    for (const model of ['tiny', 'gpt']) expect((await post(chat, { messages, model })).status).toBe(403)
    expect((await post(chat, { messages, model: 'gone' })).status).toBe(404)
    expect((await list()).map(([id]) => id)).toEqual(['tiny_sql'])
  })

  it('has to be called by its own name in a form, and the refusal says which that is', async () => {
    const { url } = await setUp()
    const form = new FormData()
    form.set('model', 'gpt')
    form.set('file', new Blob(['RIFF']), 'a.wav')
    const answer = await fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', body: form })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: { param: 'model', message: expect.stringContaining('tiny') } })
  })
})
