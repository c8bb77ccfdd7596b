import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import type { AddressInfo } from 'node:net'
import * as tls from 'node:tls'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../foundation/log.ts'
import { Metrics } from '../foundation/metrics.ts'
import { makeCertificate } from './certificates/made-certificate.fixture.ts'
import { ExposureEdge } from './exposure-edge.ts'
import type { ExposureRoute } from './plan-host.ts'

const host = 'shop-x-web-x-c1.localhost'
let certificate = { key: '', cert: '' }

beforeAll(async () => {
  certificate = await makeCertificate([host])
})

async function startService(answer: http.RequestListener) {
  const server = http.createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, endpoint: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } }
}

async function startEdge(endpoints: ExposureRoute['endpoints'], more: () => Partial<ExposureRoute> = () => ({})) {
  const metrics = new Metrics()
  const edge = new ExposureEdge({ log: silentLogger, tls: () => certificate, metrics })
  edge.addRoutes({ find: () => undefined })
  edge.addRoutes({
    find: (asked) => (asked === host ? { host, cluster: 'c1', exporter: 'web/e', endpoints, ...more() } : undefined),
  })
  const { port } = await edge.listen('127.0.0.1', 0)
  onTestFinished(() => edge.close({ graceMs: 0 }))
  const ask = (options: https.RequestOptions & { body?: string } = {}) =>
    new Promise<{ status: number; body: string; headers: http.IncomingHttpHeaders }>((resolve, reject) => {
      const { body, ...rest } = options
      // Who names no host in the handshake cannot check the certificate's.
      const rejectUnauthorized = rest.servername !== ''
      const how = { servername: host, ca: certificate.cert, agent: false, rejectUnauthorized, headers: { host } }
      const request = https.request({ host: '127.0.0.1', port, ...how, ...rest }, (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }))
      })
      request.on('error', reject)
      request.end(body)
    })
  return { ask, port, metrics, edge }
}

describe('ExposureEdge', () => {
  it('takes a request over TLS to the Service, telling it where the request came from', async () => {
    const service = await startService((request, response) => {
      const { host, 'x-forwarded-proto': proto, 'x-forwarded-for': from } = request.headers
      response.end(`${request.method} ${request.url} ${host} ${String(proto)} ${String(from)}`)
    })
    const { ask } = await startEdge([service.endpoint])
    const headers = { host: `${host.toUpperCase()}:22443`, 'x-forwarded-for': '6.6.6.6' }
    const { status, body } = await ask({ path: '/a?b', headers })
    expect([status, body]).toEqual([200, `GET /a?b ${host.toUpperCase()}:22443 https 127.0.0.1`])
  })

  it.each([host.toUpperCase(), `${host}.`, `${host}:22443`, `${host}:1`, `${host}.:22443`, `${host}:`])(
    'takes %s for the same host',
    async (asked) => {
      const service = await startService((_request, response) => response.end('reached'))
      const { ask } = await startEdge([service.endpoint])
      expect(await ask({ headers: { host: asked } })).toMatchObject({ status: 200, body: 'reached' })
    },
  )

  it('goes by the host of an absolute target, whatever the field says', async () => {
    const service = await startService((request, response) => response.end(`reached ${request.url}`))
    const { ask } = await startEdge([service.endpoint])
    const stranger = 'other-x-web-x-c1.localhost'
    const absolute = { path: `https://${host}/a?b`, headers: { host: stranger } }
    expect(await ask(absolute)).toMatchObject({ status: 200, body: 'reached /a?b' })
    expect(await ask({ path: `https://${stranger}/`, headers: { host } })).toMatchObject({ status: 421 })
  })

  it('serves no other host on a connection than the one it was opened for, whether there is one or not', async () => {
    const service = await startService((_request, response) => response.end('reached'))
    const { ask } = await startEdge([service.endpoint])
    const opened = { servername: 'other-x-web-x-c1.localhost', rejectUnauthorized: false }
    const misdirected = await ask({ ...opened, headers: { host } })
    expect([misdirected.status, JSON.parse(misdirected.body)]).toEqual([
      421,
      { error: { code: 'host_disagrees', message: expect.any(String) } },
    ])
    const nowhere = await ask({ ...opened, headers: { host: 'nobody-x-web-x-c1.localhost' } })
    expect([nowhere.status, nowhere.body]).toEqual([421, misdirected.body])
    expect(await ask({ ...opened, servername: '', headers: { host } })).toMatchObject({ status: 200 })
    expect(await ask({ ...opened, servername: host.toUpperCase(), headers: { host } })).toMatchObject({ status: 200 })
  })

  it('reveals nothing and advises nothing at hosts that are not exposed', async () => {
    const { ask } = await startEdge([])
    const asked = 'nobody-x-web-x-c1.localhost'
    const { status, body } = await ask({ servername: asked, rejectUnauthorized: false, headers: { host: asked } })
    expect([status, body]).toEqual([
      404,
      '{"error":{"code":"host_not_exposed","message":"There is nothing at this address."}}',
    ])
  })

  it('tells who speaks plain HTTP to use HTTPS', async () => {
    const { port } = await startEdge([])
    const answer = await fetch(`http://127.0.0.1:${port}/`)
    expect(answer.status).toBe(400)
    expect(await answer.json()).toEqual({
      error: { code: 'tls_required', message: expect.stringContaining('https://') },
    })
  })

  it('says how it is at hosts that nobody can expose, and nothing else', async () => {
    const { ask } = await startEdge([])
    const at = (path: string, asked: string) => ask({ path, servername: '', headers: { host: asked } })
    for (const asked of ['127.0.0.1', '127.0.0.1:22443', 'localhost']) {
      expect(await at('/healthz', asked)).toMatchObject({ status: 200, body: 'ok\n' })
      expect(await at('/readyz', asked)).toMatchObject({ status: 200, body: 'ok\n' })
      expect((await at('/metrics', asked)).body).toContain('sluice_exposure_requests_total')
      expect(await at('/', asked)).toMatchObject({ status: 404 })
    }
    expect(await ask({ path: '/healthz' })).toMatchObject({ status: 503 })
  })

  it.each([
    'other-x-web-x-c1.localhost',
    `${host}.evil.example`,
    `x.${host}`,
    'localhost',
    '127.0.0.1:22443',
    `${host}:port`,
    `${host}..`,
    host.replace('shop', 'sh%6fp'),
    host.replace('-', '%2D'),
    `user@${host}`,
    `[::1]`,
  ])('knows no host %s', async (asked) => {
    const service = await startService((_request, response) => response.end('reached'))
    const { ask } = await startEdge([service.endpoint])
    const { status, body } = await ask({ servername: '', headers: { host: asked } })
    expect([400, 404]).toContain(status)
    expect(Object.keys(JSON.parse(body) as object)).toEqual(['error'])
  })

  it('answers what is no HTTP in the form of its other errors', async () => {
    const { port } = await startEdge([])
    const socket = tls.connect({ host: '127.0.0.1', port, servername: host, ca: certificate.cert })
    onTestFinished(() => void socket.destroy())
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    socket.write('GET / HTTP/1.1\r\nhost : x\r\n\r\n')
    await once(socket, 'end')
    const [head = '', body = ''] = text.split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 400 [^]*cache-control: no-store\r\n[^]*connection: close/)
    expect(JSON.parse(body)).toEqual({ error: { code: 'invalid_http', message: expect.any(String) } })
  })

  it('says so when the Service has no ready endpoint', async () => {
    const { ask, metrics } = await startEdge([])
    const { status, body, headers } = await ask()
    expect([status, headers['retry-after']]).toEqual([503, '5'])
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'service_without_endpoints' } })
    expect(await metrics.text()).toContain(
      'sluice_exposure_requests_total{cluster="c1",exporter="web/e",status="503"} 1',
    )
  })

  it('spreads requests, and goes on to another endpoint when one does not listen', async () => {
    const hits = [0, 0]
    const services = await Promise.all(
      [0, 1].map((index) =>
        startService((_request, response) => {
          hits[index] = (hits[index] ?? 0) + 1
          response.end('ok')
        }),
      ),
    )
    const gone = await startService((_request, response) => response.end())
    await new Promise((resolve) => gone.server.close(resolve))
    const { ask } = await startEdge([gone, ...services].map(({ endpoint }) => endpoint))
    const answers = []
    for (let turn = 0; turn < 6; turn++) answers.push(await ask({ method: 'POST', body: 'x' }))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200])
    expect(Math.min(...hits)).toBeGreaterThan(0)
  })

  it('does not send a POST again that a Service may have acted on', async () => {
    let received = 0
    const killers = await Promise.all(
      [0, 1].map(() =>
        startService((request) => {
          received++
          request.socket.destroy()
        }),
      ),
    )
    const { ask } = await startEdge(killers.map(({ endpoint }) => endpoint))
    const { status, body } = await ask({ method: 'POST', body: 'order' })
    expect([status, received]).toEqual([502, 1])
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'bad_gateway' } })
  })

  it('lets upgrades through', async () => {
    const service = await startService((_request, response) => response.end())
    service.server.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n')
      socket.pipe(socket)
    })
    const { port } = await startEdge([service.endpoint])
    const socket = tls.connect({ host: '127.0.0.1', port, servername: host, ca: certificate.cert })
    const text = await new Promise<string>((resolve) => {
      let received = ''
      socket.on('data', (chunk: Buffer) => {
        received += chunk.toString()
        if (received.endsWith('\r\n\r\n')) socket.write('hello')
        if (received.endsWith('hello')) resolve(received)
      })
      socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n`)
    })
    socket.destroy()
    expect(text).toMatch(/^HTTP\/1\.1 101 [^]*hello$/)
  })

  it('shows a host its own certificate, and a changed one to new connections only', async () => {
    const [first, second] = [await makeCertificate([host, 'first']), await makeCertificate([host, 'second'])]
    let own: typeof first | undefined
    const service = await startService((request, response) => {
      response.write('begun ')
      if (request.url === '/') response.end('done')
      else service.server.once('go on', () => response.end('done'))
    })
    const { ask, port } = await startEdge([service.endpoint], () => ({ certificate: own }))
    const shownTo = async (servername: string) => {
      const socket = tls.connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      const { raw } = socket.getPeerCertificate()
      socket.destroy()
      return [certificate, first, second].findIndex(({ cert }) => new X509Certificate(cert).raw.equals(raw))
    }
    expect(await shownTo(host)).toBe(0)
    own = first
    expect(await shownTo(host.toUpperCase())).toBe(1)
    expect(await shownTo('other-x-web-x-c1.localhost')).toBe(0)
    const open = ask({ path: '/slow', ca: first.cert })
    await once(service.server, 'request')
    own = second
    expect(await shownTo(host)).toBe(2)
    service.server.emit('go on')
    expect(await open).toMatchObject({ status: 200, body: 'begun done' })
    expect(await ask({ ca: second.cert })).toMatchObject({ status: 200 })
  })
})
