import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import { configMapKind } from '../resources/config-map.ts'
import { modelKind } from '../resources/model.ts'
import { StatusError } from '../resources/status-error.ts'
import type { WatchEvent } from './cluster-client.ts'
import { type KubernetesClient, connectKubernetes } from './kubernetes-client.ts'

/**
 * What the contract suite cannot ask of a well-behaved server; the suite itself runs against a real one in
 * tests/kubernetes.
 */
describe('KubernetesClient', () => {
  let folder: string
  let server: Server
  let client: KubernetesClient
  let kubeconfig: string
  let asked: string[]
  let answer: (request: IncomingMessage, response: ServerResponse) => void

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-client-'))
    asked = []
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`)
      answer(request, response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    kubeconfig = join(folder, 'kubeconfig')
    const config = {
      clusters: [
        {
          name: 'c',
          cluster: { server: `http://127.0.0.1:${port}/vks/abc/`, 'insecure-skip-tls-verify': true },
        },
      ],
      users: [{ name: 'u', user: { token: 'let-me-in' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }
    writeFileSync(kubeconfig, JSON.stringify(config))
    client = await connectKubernetes(kubeconfig)
  })
  afterEach(async () => {
    client.close()
    server.closeAllConnections()
    await once(server.close(), 'close')
    rmSync(folder, { recursive: true })
  })

  const json = (response: ServerResponse, code: number, body: unknown) => {
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const configMap = (name: string) => ({ metadata: { name, namespace: 'home', resourceVersion: '5' } })
  const failure = (act: Promise<unknown>) =>
    act.then(
      () => 'accepted',
      (error: unknown) => error,
    )
  const collect = async (events: AsyncIterable<WatchEvent<unknown>>) => {
    const seen: string[] = []
    for await (const event of events) seen.push(event.type)
    return seen
  }
  const watch = (signal = new AbortController().signal) =>
    client.watch(configMapKind, { namespace: 'home', resourceVersion: '5', labels: { a: 'b' } }, signal)

  describe('a Service behind it', () => {
    const question = { namespace: 'home', service: 'gateway', port: 'http', path: '/v1/chat' }
    const whole = (bytes: AsyncIterable<Uint8Array>) => buffer(bytes).then(String)
    const ask = (more: object = {}) => client.askService({ ...question, ...more }, AbortSignal.timeout(20_000))

    it('is asked in its own words, and answers piece by piece', async () => {
      let heard = ''
      let goOn = () => {}
      answer = (request, response) => {
        request.on('data', (chunk: Buffer) => (heard += chunk.toString())).once('end', () => response.write('first '))
        heard += `${request.headers.authorization} ${String(request.headers['x-api-key'])} `
        goOn = () => response.end('second')
      }
      const { status, bytes } = await ask({ body: { model: 'tiny' }, headers: { 'x-api-key': 'sk-1' } })
      const pieces: string[] = []
      for await (const piece of bytes) {
        pieces.push(Buffer.from(piece).toString())
        goOn()
      }
      expect([status, pieces]).toEqual([200, ['first ', 'second']])
      expect(heard).toBe('Bearer let-me-in sk-1 {"model":"tiny"}')
      expect(asked).toEqual(['POST /vks/abc/api/v1/namespaces/home/services/gateway%3Ahttp/proxy/v1/chat'])
    })

    it('may refuse, which is its answer; what the API server refuses is thrown', async () => {
      const own = { error: { message: 'there is no model tiny' } }
      answer = (_request, response) => json(response, 404, own)
      const { status, bytes } = await ask()
      expect([status, JSON.parse(await whole(bytes))]).toEqual([404, own])
      const message = 'no endpoints available for service "gateway"'
      answer = (_request, response) =>
        json(response, 503, { kind: 'Status', apiVersion: 'v1', reason: 'ServiceUnavailable', message })
      expect(await failure(ask())).toMatchObject({ reason: 'ServiceUnavailable', message })
    })

    it('is read no further than a refusal may be long', async () => {
      answer = (_request, response) => response.writeHead(500).end(Buffer.alloc(3 * 1024 * 1024, 'x'))
      const { status, bytes } = await ask()
      expect([status, (await whole(bytes)).length <= 1024 * 1024]).toEqual([500, true])
    })
  })

  it('keeps the path of the server address and sends the credentials', async () => {
    let authorization: string | undefined
    answer = (request, response) => {
      authorization = request.headers.authorization
      json(response, 200, { apiVersion: 'sluice.dev/v1', kind: 'Model', ...configMap('m') })
    }
    await client.get(modelKind, { name: 'm', namespace: 'home' })
    expect(asked).toEqual(['GET /vks/abc/apis/sluice.dev/v1/namespaces/home/models/m'])
    expect(authorization).toBe('Bearer let-me-in')
  })

  it('never addresses anything else than the named object', async () => {
    answer = (_request, response) => json(response, 404, {})
    expect(await failure(client.get(configMapKind, { name: '', namespace: 'home' }))).toBeInstanceOf(StatusError)
    expect(await failure(client.delete(configMapKind, { name: '..', namespace: 'home' }))).toBeInstanceOf(StatusError)
    expect(asked).toEqual([])
    await failure(client.get(configMapKind, { name: '../../secrets/x?y=z', namespace: 'home' }))
    expect(asked).toEqual(['GET /vks/abc/api/v1/namespaces/home/configmaps/..%2F..%2Fsecrets%2Fx%3Fy%3Dz'])
  })

  it('reads a long list page by page', async () => {
    answer = (request, response) => {
      const second = request.url?.includes('continue=more')
      const metadata = { resourceVersion: '9', ...(second ? {} : { continue: 'more' }) }
      json(response, 200, { metadata, items: [configMap(second ? 'b' : 'a')] })
    }
    const { items, resourceVersion } = await client.list(configMapKind, { namespace: 'home' })
    expect(items.map(({ metadata, kind }) => `${kind} ${metadata.name}`)).toEqual(['ConfigMap a', 'ConfigMap b'])
    expect(resourceVersion).toBe('9')
    expect(asked).toHaveLength(2)
  })

  it('tells a missing object from a server that does not know the kind', async () => {
    answer = (_request, response) => json(response, 404, { kind: 'Status', reason: 'NotFound', details: {}, code: 404 })
    expect(await failure(client.get(modelKind, { name: 'm', namespace: 'home' }))).toMatchObject({ reason: 'NotFound' })
  })

  it('makes a refusal out of what a proxy in between says', async () => {
    answer = (_request, response) => response.writeHead(503).end('<html>come back later</html>')
    expect(await failure(client.list(configMapKind))).toMatchObject({
      reason: 'ServiceUnavailable',
      code: 503,
      message: expect.stringContaining('come back later'),
    })
  })

  it('comes back when a busy server asks to, and tells when it must not', async () => {
    const busy = ['0', '0', undefined]
    answer = (_request, response) => {
      const after = busy.shift()
      if (after === undefined) json(response, 200, { apiVersion: 'v1', kind: 'ConfigMap', ...configMap('a') })
      else response.writeHead(429, { 'retry-after': after }).end('Too many requests, please try again later.')
    }
    expect(await client.create(configMapKind, { metadata: { name: 'a', namespace: 'home' } })).toBeDefined()
    expect(asked).toHaveLength(3)
    answer = (_request, response) => response.writeHead(429, { 'retry-after': '3600' }).end('later')
    expect(await failure(client.list(configMapKind))).toMatchObject({
      reason: 'TooManyRequests',
      details: { retryAfterSeconds: 3600 },
    })
    expect(asked).toHaveLength(4)
    answer = (_request, response) => response.writeHead(429, { 'retry-after': '0' }).end('never')
    expect(await failure(client.list(configMapKind))).toMatchObject({ reason: 'TooManyRequests' })
    expect(asked).toHaveLength(14)
  })

  it('ends a watch that brings nothing for long, as if the server had', async () => {
    const clock = new FakeClock()
    const impatient = await connectKubernetes(kubeconfig, { watchSilenceMs: 50, clock })
    answer = (_request, response) => {
      response.writeHead(200)
      response.write(`${JSON.stringify({ type: 'ADDED', object: configMap('a') })}\n`)
    }
    const watched = impatient.watch(configMapKind, { resourceVersion: '5' }, new AbortController().signal)
    const events = watched[Symbol.asyncIterator]()
    expect(await events.next()).toMatchObject({ value: { type: 'ADDED' } })
    const end = events.next()
    await clock.advance(50)
    expect(await end).toEqual({ done: true, value: undefined })
    impatient.close()
  })

  it('keeps nothing of who manages which field', async () => {
    const managed = { metadata: { ...configMap('a').metadata, managedFields: [{ manager: 'kubectl' }] } }
    answer = (request, response) => {
      if (request.url?.includes('watch=')) response.end(`${JSON.stringify({ type: 'ADDED', object: managed })}\n`)
      else json(response, 200, { metadata: { resourceVersion: '9' }, items: [managed] })
    }
    expect((await client.list(configMapKind)).items[0]?.metadata).toEqual(configMap('a').metadata)
    for await (const event of watch()) expect(event).toMatchObject({ object: { metadata: configMap('a').metadata } })
  })

  it('refuses an answer that is something else', async () => {
    answer = (_request, response) => json(response, 200, { hello: 'world' })
    expect(await failure(client.list(configMapKind))).toMatchObject({ reason: 'InternalError' })
    expect(await failure(client.get(configMapKind, { name: 'a', namespace: 'home' }))).toBeInstanceOf(StatusError)
  })

  it('takes a watch apart wherever the network cuts it, and ends with it', async () => {
    const lines = ['ADDED', 'MODIFIED', 'BOOKMARK'].map(
      (type) => `${JSON.stringify({ type, object: configMap('ä') })}\n`,
    )
    const bytes = Buffer.from(lines.join(''))
    answer = (_request, response) => {
      response.writeHead(200)
      for (let start = 0; start < bytes.length; start += 7) response.write(bytes.subarray(start, start + 7))
      response.end()
    }
    expect(await collect(watch())).toEqual(['ADDED', 'MODIFIED', 'BOOKMARK'])
    const query = new URL(`http://x${asked[0]?.slice('GET '.length)}`).searchParams
    expect(Object.fromEntries(query)).toMatchObject({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '5',
      labelSelector: 'a=b',
    })
  })

  it('asks for watches that end at different times, so that they do not all begin anew together', async () => {
    answer = (_request, response) => response.writeHead(200).end()
    for (let count = 0; count < 20; count += 1) await collect(watch())
    const seconds = asked.map((line) => Number(new URL(`http://x${line.slice(4)}`).searchParams.get('timeoutSeconds')))
    expect(seconds.every((value) => value >= 300 && value <= 600)).toBe(true)
    expect(new Set(seconds).size).toBeGreaterThan(1)
  })

  it('throws what the server reports in the middle of a watch', async () => {
    const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }
    answer = (_request, response) => response.end(`${JSON.stringify({ type: 'ERROR', object: status })}\n`)
    expect(await failure(collect(watch()))).toMatchObject({ reason: 'Expired', code: 410 })
  })

  it('ends a watch quietly when it is aborted, and lets the connection go', async () => {
    const controller = new AbortController()
    const gone = Promise.withResolvers<void>()
    answer = (request, response) => {
      request.socket.on('close', () => gone.resolve())
      response.writeHead(200)
      response.write(`${JSON.stringify({ type: 'ADDED', object: configMap('a') })}\n`)
    }
    const seen: string[] = []
    for await (const event of watch(controller.signal)) {
      seen.push(event.type)
      setImmediate(() => controller.abort())
    }
    expect(seen).toEqual(['ADDED'])
    await gone.promise
  })

  it('gives up a request that is aborted', async () => {
    const controller = new AbortController()
    answer = () => controller.abort(new Error('no longer needed'))
    expect(await failure(client.list(configMapKind, {}, controller.signal))).toMatchObject({
      message: 'no longer needed',
    })
  })

  it('gives up a server that never answers', async () => {
    const hasty = await connectKubernetes(kubeconfig, { answerDeadlineMs: 20 })
    answer = () => {}
    expect(await failure(hasty.list(configMapKind))).toMatchObject({ reason: 'Timeout', code: 504 })
    hasty.close()
  })

  it('reports a server that is not there', async () => {
    await once(server.close(), 'close')
    expect(await failure(client.list(configMapKind))).toMatchObject({ code: 'ECONNREFUSED' })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
})
