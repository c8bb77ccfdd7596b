import { once } from 'node:events'
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { Informer } from '../../cluster/informer.ts'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { endpointSliceKind, serviceNameLabel } from '../../resources/endpoint-slice.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { serviceKind } from '../../resources/service.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ClusterIpProxy } from './cluster-ip-proxy.ts'

const namespace = 'web'
/** Of this process alone, as far as can be. */
const address = `127.129.${1 + (process.pid % 250)}.${1 + (Math.floor(process.pid / 250) % 250)}`

/** Says its name to everyone, and then back what it is told. */
async function backend(name: string): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.write(`${name}:`)
    socket.pipe(socket)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  await once(server, 'listening')
  return portOf(server)
}

async function startProxy() {
  const stop = new AbortController()
  const client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock: systemClock }))
  await client.create(namespaceKind, { metadata: { name: namespace } })
  const common = { client, clock: systemClock, log: silentLogger }
  const services = new Informer({ ...common, kind: serviceKind })
  const slices = new Informer({ ...common, kind: endpointSliceKind })
  const event = vi.fn()
  const isLocal = (address: string) => address.startsWith('127.')
  const proxy = new ClusterIpProxy({ ...common, services, slices, except: new Set(), isLocal, event })
  const running = [services, slices, proxy].map((part) => part.run(stop.signal))
  onTestFinished(async () => {
    stop.abort()
    await Promise.allSettled(running)
  })
  const slice = (name: string, ports: readonly number[]) => ({
    metadata: { name: `${name}-slice`, namespace, labels: { [serviceNameLabel]: name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
    ports: [{ name: '', port: ports[0], protocol: 'TCP' }],
  })
  /** One slice for each, for all of them are on one address. */
  const serve = async (port: number, targets: readonly number[], spec: Record<string, unknown> = {}) => {
    await client.create(serviceKind, {
      metadata: { name: 's', namespace },
      spec: { clusterIP: address, ports: [{ port }], ...spec },
    })
    for (const [index, target] of targets.entries()) {
      const one = slice('s', [target])
      await client.create(endpointSliceKind, { ...one, metadata: { ...one.metadata, name: `s-${index}` } })
    }
  }
  return { client, serve, event }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, address)
  await once(server, 'listening')
  const port = portOf(server)
  await once(server.close(), 'close')
  return port
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

/** What is answered to a text, from beginning to end; `refused` when nobody is there. */
function talk(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect({ host: address, port, allowHalfOpen: true })
    socket.on('error', () => resolve('refused'))
    socket.on('data', (data) => (answer += data.toString()))
    socket.on('close', () => resolve(answer))
    socket.on('end', () => socket.destroy())
    socket.end(text)
  })
}

const soon = { timeout: 5_000, interval: 10 }
const talking = (port: number) => vi.waitFor(async () => expect(await talk(port, '')).not.toBe('refused'), soon)

describe('the address of a Service', () => {
  it('leads to its endpoints in turn, and bytes pass both ways until both ends are done', async () => {
    const { serve } = await startProxy()
    const port = await freePort()
    await serve(port, [await backend('one'), await backend('two')])
    await talking(port)
    await vi.waitFor(async () => {
      const said = [await talk(port, 'hello'), await talk(port, 'hello')]
      expect(said.sort()).toEqual(['one:hello', 'two:hello'])
    }, soon)
    const long = 'x'.repeat(300_000)
    expect((await talk(port, long)).length).toBe(long.length + 4)
  })

  it('refuses connections while nothing is ready, and when the Service is gone', async () => {
    const { client, serve } = await startProxy()
    const port = await freePort()
    await serve(port, [await backend('one')])
    await talking(port)
    const ready = (is: boolean) =>
      client.patch(
        endpointSliceKind,
        { namespace, name: 's-0' },
        { endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: is } }] },
      )
    await ready(false)
    await vi.waitFor(async () => expect(await talk(port, '')).toBe('refused'), soon)
    await ready(true)
    await talking(port)
    await client.delete(serviceKind, { namespace, name: 's' })
    await vi.waitFor(async () => expect(await talk(port, '')).toBe('refused'), soon)
  })

  it('passes by an endpoint that does not answer', async () => {
    const { serve } = await startProxy()
    const port = await freePort()
    const nobody = createServer().listen(0, '127.0.0.1')
    await once(nobody, 'listening')
    const dead = portOf(nobody)
    await once(nobody.close(), 'close')
    await serve(port, [dead, await backend('one')])
    await talking(port)
    for (let round = 0; round < 4; round++) {
      await vi.waitFor(async () => expect(await talk(port, 'x')).toBe('one:x'), soon)
    }
  })

  it('keeps a client with its endpoint, where the Service wants it', async () => {
    const { serve } = await startProxy()
    const port = await freePort()
    await serve(port, [await backend('one'), await backend('two')], { sessionAffinity: 'ClientIP' })
    await talking(port)
    const first = await talk(port, '')
    for (let round = 0; round < 5; round++) expect(await talk(port, '')).toBe(first)
  })

  it('tells its owner when somebody else is there', async () => {
    const { serve, event } = await startProxy()
    const taken = createServer().listen(0, address)
    onTestFinished(() => void taken.close())
    await once(taken, 'listening')
    await serve(portOf(taken), [await backend('one')])
    const message = `${address}:${portOf(taken)} cannot be reached: another program listens there`
    await vi.waitFor(() => {
      expect(event).toHaveBeenCalledWith(expect.anything(), 'Warning', 'ClusterIPUnreachable', message)
    }, soon)
  })
})
