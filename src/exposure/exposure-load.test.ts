import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import * as tls from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../foundation/log.ts'
import type { EndpointSlice } from '../resources/endpoint-slice.ts'
import { HeldObjects } from '../resources/object-cache.ts'
import type { ServiceExporter } from '../resources/service-exporter.ts'
import type { Service } from '../resources/service.ts'
import { makeCertificate } from './certificates/made-certificate.fixture.ts'
import { ExposureEdge } from './exposure-edge.ts'
import { RouteFeed, RouteMirror } from './route-mirror.ts'
import { RouteTable } from './route-table.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A server that says whose it is, and can become somebody else's once nobody is with it. */
class NamedServer {
  name: string
  port = 0
  active = 0
  readonly #server: http.Server

  constructor(name: string) {
    this.name = name
    this.#server = http.createServer((_request, response) => {
      this.active += 1
      response.on('close', () => (this.active -= 1))
      response.end(this.name)
    })
    // Upstream connections are kept: whoever has the address next gets those, too.
    this.#server.keepAliveTimeout = 60_000
    onTestFinished(() => {
      this.#server.closeAllConnections()
      this.#server.close()
    })
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const address = this.#server.address()
    this.port = typeof address === 'object' && address ? address.port : 0
  }
}

/** Repeatable: which changes are made does not depend on the run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return state % below
  }
}

class ChangingExposures {
  readonly exporters = new HeldObjects<ServiceExporter>()
  readonly services = new HeldObjects<Service>()
  readonly slices = new HeldObjects<EndpointSlice>()
  readonly mirror = new RouteMirror()
  readonly #held = new Map<string, NamedServer[]>()
  readonly #feed: RouteFeed

  constructor() {
    const { exporters, services, slices } = this
    for (const cache of [exporters, services, slices]) cache.synced = true
    const facts = { clusterId: 'c1', proxyDomain: 'localhost', port: 22443 }
    const table = new RouteTable({ exporters, services, slices, facts })
    this.#feed = new RouteFeed(table, (news) => this.mirror.hear(structuredClone(news)))
    this.mirror.hear(this.#feed.whole())
    onTestFinished(() => {
      this.#feed.close()
      table.close()
    })
  }

  expose(name: string): void {
    const metadata = { name, namespace: 'web', creationTimestamp: '2030-01-01T00:00:00Z' }
    const spec = { serviceName: name, servicePort: 80 }
    this.exporters.put({ apiVersion: 'sluice.dev/v1', kind: 'ServiceExporter', metadata, spec })
  }

  hide(name: string): void {
    this.exporters.remove({ namespace: 'web', name })
  }

  serve(name: string, servers: readonly NamedServer[]): void {
    const metadata = { name, namespace: 'web' }
    const port = { name: 'http', port: 80, protocol: 'TCP' as const }
    if (!this.services.get(metadata)) {
      const spec = { type: 'ClusterIP' as const, ports: [port] }
      this.services.put({ apiVersion: 'v1', kind: 'Service', metadata, spec })
    }
    for (const server of this.#held.get(name) ?? [])
      this.slices.remove({ namespace: 'web', name: `${name}-${server.port}` })
    this.#held.set(name, [...servers])
    for (const server of servers) {
      this.slices.put({
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          name: `${name}-${server.port}`,
          namespace: 'web',
          labels: { 'kubernetes.io/service-name': name },
        },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['127.0.0.1'] }],
        ports: [{ ...port, port: server.port }],
      })
    }
  }
}

const hostOf = (name: string) => `${name}-x-web-x-c1.localhost`

function ask(port: number, host: string, agent: https.Agent | false, path = '/') {
  return new Promise<{ status: number; body: string; shown: Buffer }>((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      servername: host,
      headers: { host },
      rejectUnauthorized: false,
      agent,
    }
    const request = https.get(options, (response) => {
      const { socket } = response
      const shown = socket instanceof tls.TLSSocket ? socket.getPeerCertificate().raw : Buffer.alloc(0)
      let body = ''
      response.on('data', (chunk: Buffer) => (body += chunk.toString()))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body, shown }))
    })
    request.on('error', reject)
  })
}

describe('the edge under load', () => {
  it('never answers for another service, while 200 of them come, go and change their places', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `s${index}`)
    const exposures = new ChangingExposures()
    const servers = await Promise.all(
      names.map(async (name) => {
        const server = new NamedServer(name)
        await server.listen()
        return server
      }),
    )
    for (const server of servers) {
      exposures.serve(server.name, [server])
      exposures.expose(server.name)
    }
    await turn()
    const edge = new ExposureEdge({ log: silentLogger, tls: await makeCertificate(['*.localhost']) })
    edge.addRoutes(exposures.mirror)
    const { port } = await edge.listen('127.0.0.1', 0)
    onTestFinished(() => edge.close({ graceMs: 0 }))

    const clientCount = 8
    const wrong: string[] = []
    const counts = new Map<number, number>()
    const over = new AbortController()
    const client = async (seed: number): Promise<void> => {
      const random = randomFrom(seed)
      const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
      const mine = names.filter((_name, index) => index % clientCount === seed % clientCount)
      while (!over.signal.aborted) {
        const name = mine[random(mine.length)] ?? ''
        const { status, body } = await ask(port, hostOf(name), agent)
        counts.set(status, (counts.get(status) ?? 0) + 1)
        if (status === 200 && body !== name) wrong.push(`${name} was answered by ${body}`)
      }
      agent.destroy()
    }
    const clients = Array.from({ length: clientCount }, (_, index) => client(index + 1))

    const random = randomFrom(4711)
    for (let change = 0; change < 200; change += 1) {
      const [from, to] = [servers[random(servers.length)], names[random(names.length)] ?? '']
      if (!from) continue
      if (change % 4 === 0) {
        exposures.hide(to)
        await turn()
        exposures.expose(to)
      } else {
        // Somebody else gets the address, as with Pods: once the edge has heard of it and nobody is there any more.
        const before = from.name
        exposures.serve(
          before,
          servers.filter((server) => server.name === before && server !== from),
        )
        await turn()
        await turn()
        while (from.active > 0) await turn()
        from.name = to
        exposures.serve(
          to,
          servers.filter((server) => server.name === to),
        )
      }
      await turn()
    }
    over.abort()
    await Promise.all(clients)
    expect(wrong).toEqual([])
    expect(counts.get(200)).toBeGreaterThan(100)
    expect([...counts.keys()].filter((status) => ![200, 404, 502, 503].includes(status))).toEqual([])
    const last = new https.Agent({ keepAlive: true, maxSockets: 1 })
    const answers = await Promise.all(names.map((name) => ask(port, hostOf(name), last)))
    last.destroy()
    const isServed = (name: string) => servers.some((server) => server.name === name)
    expect(answers.map(({ status, body }) => (status === 200 ? body : status))).toEqual(
      names.map((name) => (isServed(name) ? name : 503)),
    )
  }, 120_000)

  it('loses neither a request nor a stream while its certificate is changed again and again', async () => {
    const host = hostOf('shop')
    const certificates = await Promise.all(
      Array.from({ length: 8 }, (_, index) => makeCertificate([host, `c${index}`])),
    )
    const raw = certificates.map(({ cert }) => new X509Certificate(cert).raw)
    const service = http.createServer((request, response) => {
      if (request.url === '/') response.end('ok')
      else {
        response.write('begun ')
        service.once('go on', () => response.end('done'))
      }
    })
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      service.closeAllConnections()
      service.close()
    })
    const address = service.address()
    const endpoints = [{ host: '127.0.0.1', port: typeof address === 'object' && address ? address.port : 0 }]
    let current = 0
    const edge = new ExposureEdge({ log: silentLogger, tls: () => certificates[current] ?? { key: '', cert: '' } })
    edge.addRoutes({
      find: (asked) => (asked === host ? { host, cluster: 'c1', exporter: 'web/e', endpoints } : undefined),
    })
    const { port } = await edge.listen('127.0.0.1', 0)
    onTestFinished(() => edge.close({ graceMs: 0 }))

    service.setMaxListeners(0)
    const streams = Array.from({ length: 10 }, () => ask(port, host, false, '/stream'))
    for (let begun = 0; begun < 10; begun += 1) await once(service, 'request')
    const seen = new Set<number>()
    const over = new AbortController()
    const client = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const atLeast = current
        const { status, shown } = await ask(port, host, false)
        expect(status).toBe(200)
        const which = raw.findIndex((one) => one.equals(shown))
        expect(which).toBeGreaterThanOrEqual(atLeast)
        seen.add(which)
      }
    }
    const clients = Array.from({ length: 6 }, () => client())
    for (; current < certificates.length - 1;) {
      current += 1
      edge.reloadTls()
      // Until somebody was shown it.
      while (!seen.has(current)) await turn()
    }
    over.abort()
    await Promise.all(clients)
    service.emit('go on')
    for (const stream of await Promise.all(streams)) expect(stream).toMatchObject({ status: 200, body: 'begun done' })
    expect([...seen].toSorted((one, other) => one - other).slice(-7)).toEqual([1, 2, 3, 4, 5, 6, 7])
  }, 120_000)

  it('holds 1,000 connections over TLS that rest in bounded memory', async () => {
    const host = hostOf('shop')
    const folder = mkdtempSync(join(tmpdir(), 'sluice-idle-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const { key, cert } = await makeCertificate([host])
    const files = [join(folder, 'key'), join(folder, 'cert')] as const
    writeFileSync(files[0], key)
    writeFileSync(files[1], cert)
    const program = join(import.meta.dirname, 'idle-edge.fixture.ts')
    const child = spawn(process.execPath, ['--expose-gc', program, host, ...files], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill())
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const next = async () => Number((await lines.next()).value)
    const port = await next()
    const memory = async () => {
      child.stdin.write('\n')
      return next()
    }
    const open = () =>
      new Promise<tls.TLSSocket>((resolve, reject) => {
        const socket = tls.connect({ host: '127.0.0.1', port, servername: host, rejectUnauthorized: false })
        socket.once('error', reject)
        socket.once('data', () => resolve(socket))
        socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
      })
    const sockets: tls.TLSSocket[] = []
    onTestFinished(() => sockets.forEach((socket) => socket.destroy()))
    const openMany = async (count: number) => {
      while (sockets.length < count) sockets.push(...(await Promise.all(Array.from({ length: 25 }, open))))
    }
    // What the first ones take is what the program loads and compiles.
    await openMany(100)
    const before = await memory()
    await openMany(1_100)
    const perConnection = ((await memory()) - before) / 1_000
    expect(sockets.every((socket) => !socket.destroyed)).toBe(true)
    expect(perConnection).toBeLessThan(150 * 1024)
  }, 120_000)
})
