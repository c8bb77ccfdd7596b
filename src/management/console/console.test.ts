import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { modelSchema } from '../../resources/model.ts'
import { ManagementStage, acme, credential, disabled, forInference, rival } from '../management-stage.fixture.ts'
import { ConsoleStage } from './console-stage.fixture.ts'

const stage = new ManagementStage()
/** A small text that would become a large one. */
const towerOfAliases = [
  'a0: &a0 [x]',
  ...Array.from({ length: 9 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(9)}]`),
].join('\n')

describe('the console', () => {
  let console: ConsoleStage
  const clock = new FakeClock()

  beforeEach(async () => {
    console = new ConsoleStage(stage, clock)
    await console.start()
  })
  afterEach(() => console.leave())

  describe('its login', () => {
    it('gives a short-lived cookie that scripts and other pages cannot use', async () => {
      const { status, headers, json } = await console.logIn(acme)
      expect(status).toBe(200)
      expect(json).toMatchObject({ code: 0, data: { enterprise: 'acme', cluster: { id: 'vks-1', name: 'first' } } })
      const cookie = headers.get('set-cookie') ?? ''
      expect(cookie.split('; ').slice(1)).toEqual([
        'Path=/api/console/v1/',
        'Max-Age=43200',
        'HttpOnly',
        'SameSite=Strict',
      ])
      const secure = await console.logIn(acme, { 'x-forwarded-proto': 'https' })
      expect(secure.headers.get('set-cookie')).toContain('; Secure')
    })

    it.each([
      ['a wrong secret', { ...acme, secretKey: 'wrong' }, 401, 'do not open the console'],
      ['a key for inference', forInference, 401, 'do not open the console'],
      ['a disabled key', disabled, 403, 'disabled'],
      ['a key of another enterprise', rival, 403, 'belongs to another'],
    ])('refuses %s', async (_name, pair, status, words) => {
      const answer = await console.logIn(pair)
      expect(answer.status).toBe(status)
      expect(answer.json.msg).toContain(words)
      expect(answer.headers.get('set-cookie')).toBeNull()
    })

    it('refuses guesses unheard after too many', async () => {
      for (let attempt = 0; attempt < 60; attempt += 1) await console.logIn({ ...acme, secretKey: 'wrong' })
      const answer = await console.logIn(acme)
      expect(answer.status).toBe(429)
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    })

    it('ends with a logout, with time, and with its key', async () => {
      await console.enter()
      expect((await console.ask('session')).status).toBe(200)
      await console.send('session', 'DELETE')
      expect(await console.ask('session')).toMatchObject({ status: 401, json: { code: -1 } })

      await console.enter()
      await clock.advance(3_600_000)
      expect((await console.ask('session')).status).toBe(401)

      await console.enter()
      stage.keys.items = stage.keys.items.map((key) => ({ ...key, spec: { ...key.spec, disabled: true } }))
      stage.keys.changed()
      expect((await console.ask('session')).status).toBe(401)
    })
  })

  it('tells strangers nothing, not even what there is', async () => {
    for (const path of ['session', 'live', 'history', 'nothing', 'models/tiny/wake']) {
      expect([path, (await console.ask(path)).status]).toEqual([path, 401])
    }
    expect((await stage.ask('/api/console/v1/history', credential(rival))).status).toBe(403)
    expect((await stage.ask('/api/console/v1/history', credential(acme))).status).toBe(200)
  })

  it('takes nothing that a page of another origin may have sent', async () => {
    await console.enter()
    const send = (headers: Record<string, string>) =>
      fetch(`${console.url}models/tiny/wake`, { method: 'POST', headers: { cookie: console.cookie, ...headers } })
    expect((await send({})).status).toBe(403)
    expect((await send({ 'x-sluice-console': '1', 'sec-fetch-site': 'same-site' })).status).toBe(403)
    expect((await send({ 'x-sluice-console': '1', 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    const preflight = await fetch(`${console.url}models/tiny/wake`, {
      method: 'OPTIONS',
      headers: { origin: 'http://a' },
    })
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull()
    expect(console.scaled).toEqual([])
    expect((await send({ 'x-sluice-console': '1', 'sec-fetch-site': 'same-origin' })).status).toBe(200)
  })

  it('refuses a path, a method and a body that it does not know', async () => {
    await console.enter()
    expect((await console.ask('nothing')).status).toBe(404)
    expect(await console.send('history', 'POST')).toMatchObject({ status: 405 })
    expect(await console.send('models/tiny/scale', 'POST', 'no json')).toMatchObject({ status: 400 })
    expect(await console.send('models/tiny/scale', 'POST', { replicas: 1.5 })).toMatchObject({ status: 400 })
    expect(await console.send('models/tiny/scale', 'POST', 'x'.repeat(300_000))).toMatchObject({ status: 413 })
    expect(await console.send('models/none/wake', 'POST')).toMatchObject({ status: 404 })
  })

  describe('its actions', () => {
    beforeEach(() => console.enter())

    it('wake, sleep and scale as kubectl would, and are written down', async () => {
      expect(await console.send('models/tiny/wake', 'POST')).toMatchObject({
        status: 200,
        json: { data: { replicas: 1 } },
      })
      await console.send('models/tiny/scale', 'POST', { replicas: 3 })
      await console.send('models/tiny/sleep', 'POST')
      expect(console.scaled).toEqual([
        ['tiny', 1],
        ['tiny', 3],
        ['tiny', 0],
      ])
      expect(console.changes).toMatchObject([
        {
          key: acme.accessKey.toLowerCase(),
          verb: 'patch',
          object: { resource: 'models', subresource: 'scale', name: 'tiny' },
          status: 200,
        },
        { status: 200 },
        { status: 200 },
      ])
    })

    it('remove a Model, but none that is not there', async () => {
      expect(await console.send('models/nobody', 'DELETE')).toMatchObject({ status: 404 })
      expect(await console.send('models/tiny', 'DELETE')).toMatchObject({ status: 200 })
      expect(console.written).toEqual([['delete', 'tiny']])
      expect(console.changes).toMatchObject([{ verb: 'delete', object: { resource: 'models', name: 'tiny' } }])
    })

    it('are refused in words where the Model does not allow them', async () => {
      const refused = await console.send('models/tiny/scale', 'POST', { replicas: 9 })
      expect(refused).toMatchObject({ status: 400, json: { msg: expect.stringContaining('between 0 and 3') } })
      console.models.put(modelSchema.parse({ ...console.tiny, spec: { ...console.tiny.spec, minReplicas: 1 } }))
      const awake = await console.send('models/tiny/sleep', 'POST')
      expect(awake).toMatchObject({ status: 400, json: { msg: expect.stringContaining('minReplicas to 0') } })
      expect(console.scaled).toEqual([])
    })

    it('say why where only reading is allowed', async () => {
      await console.start({ readOnly: 'its account may only read' })
      await console.enter()
      const refused = await console.send('models/tiny/wake', 'POST')
      expect(refused).toMatchObject({
        status: 501,
        json: { msg: expect.stringContaining('its account may only read') },
      })
    })
  })

  describe('its keys', () => {
    beforeEach(() => console.enter())

    it('are made of the enterprise that asks, and their secret is told once', async () => {
      const made = await console.send('keys', 'POST', { name: 'app', use: 'Inference', models: ['tiny'], days: 2 })
      expect(made.json.data).toEqual({
        name: 'app',
        use: 'Inference',
        accessKey: 'access-of-it',
        secret: 'sk-access-secret',
      })
      const spec = { enterprise: 'acme', use: 'Inference', allowedModels: ['tiny'], expiresAt: expect.any(String) }
      expect(console.written).toMatchObject([['create', { metadata: { name: 'app' }, spec }]])
      const pair = await console.send('keys', 'POST', { name: 'colleague', use: 'Management' })
      expect(pair.json.data.secret).toMatch(/^[\w-]{43}$/)
      expect(JSON.stringify(console.written)).not.toContain(pair.json.data.secret)
      expect(JSON.stringify(console.changes)).not.toContain('sk-access')
      expect(await console.send('keys', 'POST', { name: 'Not A Name', use: 'Inference' })).toMatchObject({
        status: 400,
      })
    })

    it('are revoked, but neither another enterprise’s nor the one in use', async () => {
      stage.keys.get = ({ name }) => stage.keys.items.find(({ metadata }) => metadata.name === name)
      const nameOf = (pair: typeof acme) => pair.accessKey.toLowerCase()
      expect(await console.send(`keys/${nameOf(rival)}`, 'DELETE')).toMatchObject({ status: 404 })
      expect(await console.send(`keys/${nameOf(acme)}`, 'DELETE')).toMatchObject({ status: 400 })
      expect(await console.send(`keys/${nameOf(forInference)}`, 'DELETE')).toMatchObject({ status: 200 })
      expect(console.written).toEqual([['delete', nameOf(forInference)]])
    })
  })

  describe('its YAML', () => {
    beforeEach(() => console.enter())

    it('is read, tried and saved, without what the autoscaler decides', async () => {
      console.models.put({ ...console.tiny, spec: { ...console.tiny.spec, replicas: 2 } })
      const { yaml } = (await console.ask('models/tiny/manifest')).json.data
      expect(yaml).toContain('maxReplicas: 3')
      expect(yaml).not.toContain('replicas: 2')
      const edited = yaml.replace('maxReplicas: 3', 'maxReplicas: 5')
      expect(await console.send('models/tiny/manifest', 'PUT', { yaml: edited, dryRun: true })).toMatchObject({
        status: 200,
      })
      expect(console.changes).toEqual([])
      expect(await console.send('models/tiny/manifest', 'PUT', { yaml: edited })).toMatchObject({ status: 200 })
      expect(console.written).toMatchObject([
        ['rehearse', {}],
        ['update', { spec: { maxReplicas: 5, replicas: 2 } }],
      ])
      expect(console.changes).toMatchObject([{ verb: 'update', object: { resource: 'models', name: 'tiny' } }])
    })

    it.each([
      ['no YAML', 'a: [', 'not YAML'],
      ['another kind', 'kind: Pod\nmetadata: {name: tiny}', 'kind must stay Model'],
      ['another name', 'kind: Model\nmetadata: {name: other}', 'The name must stay tiny'],
      ['a tower of aliases', towerOfAliases, 'not YAML'],
    ])('is refused in words: %s', async (_name, yaml, words) => {
      const refused = await console.send('models/tiny/manifest', 'PUT', { yaml })
      expect(refused.status).toBe(400)
      expect(refused.json.msg).toContain(words)
      expect(console.written).toEqual([])
    })
  })

  describe('its new models', () => {
    const model = { name: 'new', source: 'pvc://userdata/models/tiny' }
    beforeEach(() => console.enter())

    it('are made of files that are there', async () => {
      expect((await console.ask('model-folders')).json.data).toEqual({ root: '/data', folders: ['models/tiny'] })
      expect(await console.send('models', 'POST', model)).toMatchObject({ status: 200 })
      expect(console.written).toMatchObject([['create', { metadata: { name: 'new' }, spec: { url: model.source } }]])
    })

    it('are fetched first from elsewhere, for everybody to see, and made when they are there', async () => {
      const events = console.live()
      await events.next()
      expect(await console.send('models', 'POST', { ...model, source: 'hf:o/r/f.gguf' })).toMatchObject({ status: 200 })
      console.pull?.onProgress(1, 4)
      await clock.advance(200)
      expect(await events.next()).toMatchObject({
        data: { changed: { 'pull/new': { state: 'fetching', bytes: 1, totalBytes: 4 } } },
      })
      expect(console.written).toEqual([])
      console.pull?.end('pvc://userdata/models/new')
      await expect
        .poll(() => console.written)
        .toMatchObject([['create', { spec: { url: 'pvc://userdata/models/new' } }]])
    })

    it('are not made when fetching fails or is stopped', async () => {
      await console.send('models', 'POST', { ...model, source: 'hf:o/r/f.gguf' })
      expect(await console.send('models', 'POST', { ...model, source: 'hf:o/r/f.gguf' })).toMatchObject({ status: 429 })
      expect(await console.send('pulls/new', 'DELETE')).toMatchObject({ status: 200 })
      const events = console.live()
      expect(await events.next()).toMatchObject({
        data: { changed: { 'pull/new': { state: 'failed', message: 'stopped by hand' } } },
      })
      expect(console.written).toEqual([])
    })
  })

  describe('its live stream', () => {
    it('begins with everything, goes on with what changes, and ends with the session', async () => {
      await console.enter()
      const events = console.live()
      const first = await events.next()
      expect(first).toMatchObject({
        event: 'whole',
        data: { changed: { 'model/tiny': { phase: 'Asleep', active: 0 } } },
      })
      expect(first?.data.changed).toHaveProperty(['card/nvidia.com/gpu-l40s', 'total'], 1)
      expect(first?.data.changed).toHaveProperty(['key/' + acme.accessKey.toLowerCase(), 'use'], 'Management')
      expect(JSON.stringify(first)).not.toContain('ecretSha')
      expect(Object.keys(first?.data.changed ?? {})).not.toContain(`key/${rival.accessKey.toLowerCase()}`)

      console.models.put({ ...console.tiny, status: { phase: 'Waking' } })
      await clock.advance(200)
      const second = await events.next()
      expect(second).toMatchObject({ event: 'change', data: { changed: { 'model/tiny': { phase: 'Waking' } } } })
      expect(Object.keys(second?.data.changed ?? {})).toEqual(['model/tiny'])

      await console.send('session', 'DELETE')
      await clock.advance(15_000)
      expect(await events.ended()).toBe(true)
    })

    it('ends when the server stops', async () => {
      await console.enter()
      const events = console.live()
      await events.next()
      await stage.server.stop(AbortSignal.timeout(5_000))
      expect(await events.ended()).toBe(true)
    })
  })

  it('ends a log that is followed with the key of its reader', async () => {
    const follow = () => console.live('pods/sluice/tiny-1/log?container=endless')
    await console.enter()
    const [first, second] = [follow(), console.live('pods/sluice/tiny-1/log?container=endless', credential(acme))]
    await Promise.all([first.begun, second.begun])
    stage.keys.items = stage.keys.items.map((key) => ({ ...key, spec: { ...key.spec, disabled: true } }))
    stage.keys.changed()
    await clock.advance(15_000)
    expect(await Promise.all([first.ended(), second.ended()])).toEqual([true, true])
  })

  it('passes a Pod’s log on as it is written, and says when there is no such Pod', async () => {
    await console.enter()
    expect(await console.ask('pods/sluice/none/log')).toMatchObject({ status: 404 })
    expect(await console.ask('pods/sluice/tiny-1/log?container=engine')).toMatchObject({
      status: 200,
      body: 'engine: hello\nengine: world\n',
    })
  })

  it('serves its page under a strict policy, to everybody', async () => {
    const page = await stage.ask('/', '')
    expect(page.status).toBe(200)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(await stage.ask('/', '', { headers: { 'if-none-match': page.headers.get('etag') ?? '' } })).toMatchObject({
      status: 304,
    })
    expect((await stage.ask('/../console.ts', '')).status).toBe(404)
    expect((await stage.ask('/', '', { method: 'POST' })).status).toBe(405)
  })
})
