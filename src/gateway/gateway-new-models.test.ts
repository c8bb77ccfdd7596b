import { describe, expect, it } from 'vitest'
import type { Model } from '../resources/model.ts'
import { type FakeCache, fakeModel } from '../traffic/cluster-view.fixture.ts'
import { postJson, startGateway, startUpstream } from './gateway.fixture.ts'

const chat = '/openai/v1/chat/completions'

/** A gateway whose cluster has a Model that it has not heard of. */
async function setUp(tell: (models: FakeCache<Model>) => void = (models) => models.put(fakeModel('late'))) {
  const upstream = await startUpstream((_request, response) => void response.end('{"served":true}'))
  let asked = 0
  const gateway = await startGateway({
    catchUp: async (models) => {
      asked++
      await new Promise(setImmediate)
      tell(models)
    },
  })
  gateway.addPod('one', upstream.port)
  gateway.addPod('two', upstream.port, 'late')
  return { ...gateway, upstream, asked: () => asked }
}

function formOf(model: string): FormData {
  const form = new FormData()
  form.append('model', model)
  form.append('file', new Blob(['x'.repeat(100_000)]), 'a.wav')
  return form
}

describe('a Model that was created a moment ago', () => {
  it.each<[string, (url: string) => Promise<Response>]>([
    ['a question', (url) => postJson(url + chat, { model: 'late' })],
    ['a long question', (url) => postJson(url + chat, { model: 'late', text: 'x'.repeat(500_000) })],
    ['a form', (url) => fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', body: formOf('late') })],
    ['a pass-through by its body', (url) => postJson(`${url}/openai/api/v1/any`, { model: 'late' })],
    [
      'a pass-through by its header',
      (url) => fetch(`${url}/openai/api/v1/any`, { headers: { 'x-sluice-model': 'late' } }),
    ],
    ['a look at it', (url) => fetch(`${url}/openai/v1/models/late`)],
  ])('is known to %s', async (_case, ask) => {
    const { url, asked } = await setUp()
    expect((await ask(url)).status).toBe(200)
    expect(asked()).toBe(1)
    expect((await ask(url)).status).toBe(200)
    expect(asked()).toBe(1)
  })

  it('is known by a name that an older one was given a moment ago', async () => {
    const { url, upstream } = await setUp((models) => {
      const tiny = fakeModel('tiny')
      models.put({ ...tiny, spec: { ...tiny.spec, aliases: ['small'] } })
    })
    expect((await postJson(url + chat, { model: 'small' })).status).toBe(200)
    expect(JSON.parse(upstream.received[0]?.body.toString() ?? '')).toEqual({ model: 'tiny' })
  })

  it('is refused if there is none, after the cluster was asked', async () => {
    const { url, asked } = await setUp()
    for (const ask of [postJson(url + chat, { model: 'nobody' }), fetch(`${url}/openai/v1/models/nobody`)]) {
      const answer = await ask
      expect([answer.status, await answer.json()]).toMatchObject([404, { error: { code: 'model_not_found' } }])
    }
    expect(asked()).toBe(2)
  })

  it('costs those nothing who ask for what is known, or name nothing', async () => {
    const { url, asked } = await setUp()
    expect((await postJson(url + chat, { model: 'tiny' })).status).toBe(200)
    expect((await postJson(url + chat, { messages: [] })).status).toBe(400)
    expect((await postJson(`${url}/openai/api/v1/any`, {})).status).toBe(200)
    expect(asked()).toBe(0)
  })
})
