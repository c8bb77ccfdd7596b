import type * as http from 'node:http'
import * as net from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bearerKeyText, generateBearerKey, secretDigest } from '../../gateway/access/bearer-key.ts'
import { startUpstream } from '../../gateway/gateway.fixture.ts'
import type { Model } from '../../resources/model.ts'
import { type FakeCache, fakeModel, fakePod } from '../../traffic/cluster-view.fixture.ts'
import { defaultServingThreads } from './serving-count.ts'
import { ask, requestsOf, startThreads, until } from './serving-threads.fixture.ts'

const podAt = (port: number, name = 'one', more = {}) => fakePod(name, { host: '127.0.0.1', port, ...more })
const echo = (_request: unknown, response: http.ServerResponse) => void response.end('{"answer":true}')

/** An upstream that begins a stream for every request. The test ends the streams. */
async function startStreams() {
  const streams = new Set<http.ServerResponse>()
  const upstream = await startUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {}\n\n')
    streams.add(response)
    response.on('close', () => streams.delete(response))
  })
  const endAll = () => {
    for (const stream of streams) stream.end('data: [DONE]\n\n')
  }
  return { ...upstream, streams, endAll }
}

describe('two serving threads', () => {
  it('serves on one port, and tells what both have counted, whichever is asked', async () => {
    const upstream = await startUpstream(echo)
    const { pods, pool, threads, port, url, metrics } = await startThreads()
    pods.put(podAt(upstream.port))
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask(port).answer))
    expect(answers).toEqual(Array.from({ length: 60 }, () => ({ status: 200, body: '{"answer":true}' })))
    // The client has its answer a moment before the thread has finished the request.
    await until(() => pool.sample('tiny')?.active === 0)
    expect(pool.lastActiveAt('tiny')).toBeGreaterThan(Date.now() - 10_000)
    const total = async () => (await Promise.all(threads.map((one) => one.snapshot()))).map(requestsOf)
    await until(async () => (await total()).reduce((sum, count) => sum + count) === 60)
    expect((await total()).every((count) => count > 0)).toBe(true)
    const line = 'sluice_gateway_requests_total{route="chat/completions",model="tiny",status="200"} 60'
    for (let turn = 0; turn < 4; turn++) {
      const text = await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text()
      expect(text).toContain(line)
      expect(text).toContain('sluice_traffic_active_requests{model="tiny"} 0')
      expect(text).toContain('sluice_gateway_workers 2')
    }
    expect(await metrics.text()).toContain(line)
  })

  it('answers for a Model that neither has heard of yet', async () => {
    const upstream = await startUpstream(echo)
    let asked = 0
    const catchUp = async (models: FakeCache<Model>) => {
      await new Promise(setImmediate)
      asked++
      models.put(fakeModel('late'))
    }
    const { pods, port } = await startThreads({ catchUp })
    pods.put(podAt(upstream.port, 'one', { model: 'late' }))
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(port, { model: 'late' }).answer))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const before = asked
    expect((await ask(port, { model: 'late' }).answer).status).toBe(200)
    expect(asked).toBe(before)
    expect((await ask(port, { model: 'nobody' }).answer).status).toBe(404)
  })

  it('wakes a sleeping model once for a thousand requests, and answers all of them', async () => {
    const upstream = await startUpstream(echo)
    const { pods, pool, port, metrics } = await startThreads()
    const wakes: string[] = []
    pool.onFirstWaiter((model) => wakes.push(model))
    const answers = Array.from({ length: 1_000 }, () => ask(port).answer)
    await until(() => pool.sample('tiny')?.waiting === 1_000)
    pods.put(podAt(upstream.port))
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    expect(statuses.filter((status) => status !== 200)).toEqual([])
    expect(upstream.received).toHaveLength(1_000)
    expect(wakes).toEqual(['tiny'])
    await until(() => pool.sample('tiny')?.active === 0)
    const text = await metrics.text()
    expect(text).toContain('sluice_traffic_wakes_total{model="tiny"} 1')
    expect(text).toContain('sluice_traffic_wake_seconds_count{model="tiny",phase="first_byte"} 1')
    expect(text).toContain('sluice_traffic_wait_seconds_count{model="tiny"} 1000')
  })

  it('loses with a thread only its own connections, counts them no more, and starts it again', async () => {
    const upstream = await startStreams()
    const { pods, pool, port, threads, serving, metrics, logged } = await startThreads()
    const waiting = Array.from({ length: 20 }, () => ask(port, { model: 'tiny' }))
    const gone = Promise.allSettled(waiting.map(({ answer }) => answer))
    await until(() => pool.sample('tiny')?.waiting === 20)
    const [victim, other] = threads
    await victim?.kill()
    // The killed thread's clients no longer count as waiting; the others still do.
    const left = pool.sample('tiny')?.waiting ?? 0
    expect(left).toBeLessThan(20)
    for (const one of waiting) one.leave()
    await until(() => pool.sample('tiny')?.waiting === 0)
    expect((await gone).every(({ status }) => status === 'rejected')).toBe(true)
    await until(() => serving.running === 2 && threads.length === 3)

    pods.put(podAt(upstream.port))
    await until(() => pool.sample('tiny')?.active === 0)
    const [, , third] = threads
    await until(async () => (await third?.snapshot()) !== undefined)
    const streams = Array.from({ length: 100 }, () => ask(port, { stream: true }))
    await until(() => streams.every(({ received }) => received() !== ''))
    expect(pool.sample('tiny')?.active).toBe(100)
    const results = Promise.allSettled(streams.map(({ answer }) => answer))
    await metrics.text()
    // Not caught anywhere, so it ends the thread.
    other?.tell({ type: 'models', news: undefined as never })
    expect(await other?.ended).toBeInstanceOf(TypeError)
    const active = pool.sample('tiny')?.active ?? 0
    expect(active).toBeLessThan(100)
    await until(() => upstream.streams.size === active)
    upstream.endAll()
    const settled = await results
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(active)
    await until(() => pool.sample('tiny')?.active === 0)
    await until(() => serving.running === 2 && threads.length === 4)
    expect(await metrics.text()).toContain('sluice_gateway_worker_losses_total 2')
    expect(logged.filter((line) => line.includes('lost with its connections'))).toHaveLength(2)
    const again = ask(port, { stream: true })
    await until(() => again.received() !== '')
    upstream.endAll()
    expect(await again.answer).toMatchObject({ status: 200 })
  })

  it('keeps to the capacity of an endpoint, in turn, whichever thread a request comes through', async () => {
    let now = 0
    let most = 0
    const upstream = await startUpstream((_request, response) => {
      most = Math.max(most, ++now)
      setImmediate(() => {
        now--
        response.end('{}')
      })
    })
    const { pods, pool, port } = await startThreads()
    pods.put(podAt(upstream.port, 'one', { capacity: 2 }))
    const answers = await Promise.all(Array.from({ length: 300 }, () => ask(port).answer))
    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
    expect(most).toBeLessThanOrEqual(2)
    await until(() => pool.sample('tiny')?.active === 0)
    expect(pool.sample('tiny')?.waiting).toBe(0)
  })

  it('sends nothing more to an endpoint that failed in one thread, and serves its requests elsewhere', async () => {
    const upstream = await startUpstream(echo)
    const { pods, port, metrics, pool } = await startThreads()
    pods.put(podAt(await closedPort(), 'broken'))
    pods.put(podAt(upstream.port, 'sound'))
    const answers = await Promise.all(Array.from({ length: 100 }, () => ask(port).answer))
    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
    expect(pool.openEndpoints('tiny').map(({ name }) => name)).toEqual(['sound'])
    expect(await metrics.text()).toContain('sluice_traffic_endpoint_failures_total{model="tiny"} 1')
  })

  it('forgets an endpoint that leaves once the last request of any thread has left it', async () => {
    const upstream = await startStreams()
    const { pods, pool, port } = await startThreads()
    pods.put(podAt(upstream.port))
    const streams = Array.from({ length: 10 }, () => ask(port, { stream: true }))
    await until(() => upstream.streams.size === 10)
    pods.put(podAt(upstream.port, 'one', { draining: true }))
    expect(pool.inFlightByEndpoint('tiny')).toEqual(new Map([['one', 10]]))
    upstream.endAll()
    for (const { answer } of streams) expect(await answer).toMatchObject({ status: 200 })
    await until(() => pool.inFlightByEndpoint('tiny').size === 0)
    expect(pool.lastActiveAt('tiny')).toBeGreaterThan(Date.now() - 10_000)
  })

  it('sends nothing to an endpoint that leaves once it was seen without requests, at whatever moment', async () => {
    const away = new Set<string>()
    const violations: string[] = []
    const engines = await Promise.all(
      ['one', 'two'].map(async (name) => {
        const upstream = await startUpstream((_request, response) => {
          if (away.has(name)) violations.push(name)
          response.end('{}')
        })
        return { name, port: upstream.port }
      }),
    )
    const { pods, pool, port } = await startThreads()
    const asked: Array<Promise<number>> = []
    for (let round = 0; round < 200; round++) {
      const [from, to] = round % 2 === 0 ? engines : engines.toReversed()
      if (!from || !to) throw new Error('there are two')
      away.delete(to.name)
      pods.put(podAt(to.port, to.name, { uid: `${round}` }))
      for (let client = 0; client < 6; client++) asked.push(ask(port).answer.then(({ status }) => status))
      await turns(round % 8)
      pods.put(podAt(from.port, from.name, { uid: `${round - 1}`, draining: true }))
      await until(() => (pool.inFlightByEndpoint('tiny').get(from.name) ?? 0) === 0)
      away.add(from.name)
      // Keeps the main thread busy, so that the serving threads hear of the change late.
      for (const since = performance.now(); performance.now() - since < 2;);
    }
    const statuses = await Promise.all(asked)
    expect(violations).toEqual([])
    expect(statuses.filter((status) => status !== 200)).toEqual([])
  })

  it('asks for keys, and knows of a change at once in every thread', async () => {
    const upstream = await startUpstream(echo)
    const { pods, keys, port } = await startThreads({ requireApiKeys: true })
    pods.put(podAt(upstream.port))
    const key = generateBearerKey()
    const authorization = `Bearer ${bearerKeyText(key)}`
    const statuses = async () => {
      const answers = await Promise.all(Array.from({ length: 16 }, () => ask(port, {}, { authorization }).answer))
      return [...new Set(answers.map(({ status }) => status))]
    }
    expect(await statuses()).toEqual([401])
    keys.put({
      apiVersion: 'sluice.dev/v1',
      kind: 'ApiKey',
      metadata: { name: 'mine' },
      spec: {
        enterprise: 'e',
        accessKey: key.accessKey,
        secretSha256: secretDigest(key.secret).toString('hex'),
        disabled: false,
        use: 'Inference',
      },
    })
    await until(async () => (await statuses()).join() === '200')
    keys.remove({ name: 'mine' })
    await until(async () => (await statuses()).join() === '401')
  })

  it('stops by ending streams whole within the grace, or else with an error event', async () => {
    const upstream = await startStreams()
    const { pods, pool, serving, port } = await startThreads()
    pods.put(podAt(upstream.port))
    const streams = Array.from({ length: 20 }, () => ask(port, { stream: true }))
    await until(() => streams.every(({ received }) => received() !== ''))
    const [early] = upstream.streams
    pool.stop()
    const closed = serving.close({ graceMs: 300 })
    early?.end('data: [DONE]\n\n')
    const bodies = await Promise.all(streams.map(async ({ answer }) => (await answer).body))
    await closed
    expect(bodies.filter((body) => body.endsWith('data: [DONE]\n\n'))).toHaveLength(1)
    expect(bodies.filter((body) => body.includes('"code":"stopping"'))).toHaveLength(19)
    expect(pool.sample('tiny')?.active).toBe(0)
    await expect(ask(port).answer).rejects.toThrow('ECONNREFUSED')
  })

  it('starts nothing again once it stops', async () => {
    const { threads, serving, port } = await startThreads()
    await Promise.all(threads.map((thread) => thread.kill()))
    await serving.close({ graceMs: 0 })
    expect([threads.length, serving.running]).toEqual([2, 0])
    await expect(ask(port).answer).rejects.toThrow('ECONNREFUSED')
  })

  it('does not share a port with another program', async () => {
    const taken = net.createServer()
    await new Promise<void>((resolve) => taken.listen({ host: '127.0.0.1', port: 0, reusePort: true }, resolve))
    onTestFinished(() => void taken.close())
    const address = taken.address()
    const { serving } = await startThreads()
    const port = address !== null && typeof address === 'object' ? address.port : 0
    await expect(serving.listen('gateway', '127.0.0.1', port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })
})

describe('the number of threads', () => {
  it.each([
    [1, 1],
    [4, 1],
    [7, 1],
    [8, 2],
    [12, 3],
    [16, 4],
    [128, 4],
  ])('on %i cores is %i', (cores, workers) => {
    expect(defaultServingThreads(cores, 'linux')).toBe(workers)
  })

  it('is 1 where threads cannot share a port', () => {
    expect(defaultServingThreads(16, 'darwin')).toBe(1)
  })
})

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

async function closedPort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return address !== null && typeof address === 'object' ? address.port : 0
}
