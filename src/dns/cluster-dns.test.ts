import { Resolver } from 'node:dns/promises'
import { expect, it, onTestFinished } from 'vitest'
import { ClusterApi } from '../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../cluster/embedded-client.ts'
import { Informer } from '../cluster/informer.ts'
import { systemClock } from '../foundation/clock.ts'
import { silentLogger } from '../foundation/log.ts'
import { coreKinds } from '../resources/all-kinds.ts'
import { endpointSliceKind, serviceNameLabel } from '../resources/endpoint-slice.ts'
import { namespaceKind } from '../resources/namespace.ts'
import { podKind } from '../resources/pod.ts'
import { serviceKind } from '../resources/service.ts'
import { MemoryStore } from '../store/memory-store.ts'
import { ClusterIndex } from './names/cluster-index.ts'
import { ClusterNames } from './names/cluster-names.ts'
import { DnsServer } from './dns-server.ts'

const namespace = 'shop'

/** The whole chain: an API server, informers that follow it, and Node's DNS client. */
async function startCluster() {
  const stop = new AbortController()
  const client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds: coreKinds, clock: systemClock }))
  await client.create(namespaceKind, { metadata: { name: namespace } })
  const common = { client, clock: systemClock, log: silentLogger }
  const services = new Informer({ ...common, kind: serviceKind })
  const slices = new Informer({ ...common, kind: endpointSliceKind })
  const pods = new Informer({ ...common, kind: podKind })
  const namespaces = new Informer({ ...common, kind: namespaceKind })
  const index = new ClusterIndex({ services, slices, pods, namespaces }, systemClock)
  const names = new ClusterNames({
    index,
    clusterDomain: 'cluster.local',
    serverService: { namespace: 'kube-system', name: 'kube-dns' },
    serverAddresses: () => server.listeners.map(({ address }) => address),
  })
  const upstreams = () => Promise.resolve([])
  const server: DnsServer = new DnsServer({ ...common, names, upstreams })
  const { address, port } = await server.listen('127.0.0.1', 0)
  const resolver = new Resolver({ timeout: 5_000, tries: 1 })
  resolver.setServers([`${address}:${port}`])
  const ask = (name: string) => resolver.resolve4(name).catch((error: NodeJS.ErrnoException) => error.code)
  const running: Array<Promise<void>> = []
  const run = async () => {
    const all = [services, slices, pods, namespaces]
    running.push(...all.map((informer) => informer.run(stop.signal)))
    await Promise.all(all.map((informer) => informer.whenSynced()))
  }
  onTestFinished(async () => {
    stop.abort()
    index.close()
    await Promise.allSettled([...running, server.close()])
  })
  return { client, ask, run, resolver }
}

it('a Service has its name from when it is there until it is gone', async () => {
  const { client, ask, run } = await startCluster()
  const name = `web.${namespace}.svc.cluster.local`
  await client.create(serviceKind, {
    metadata: { name: 'web', namespace },
    spec: { clusterIP: '127.129.0.7', ports: [{ name: 'http', port: 80 }] },
  })
  expect(await ask(name)).toBe('ESERVFAIL')
  await run()
  expect(await ask(name)).toEqual(['127.129.0.7'])
  await client.delete(serviceKind, { namespace, name: 'web' })
  await expect.poll(() => ask(name)).toBe('ENOTFOUND')
})

it('the Pods of a headless Service have names as they become ready', async () => {
  const { client, ask, run, resolver } = await startCluster()
  await run()
  await client.create(serviceKind, {
    metadata: { name: 'db', namespace },
    spec: { clusterIP: 'None', selector: { app: 'db' }, ports: [{ name: 'sql', port: 5432 }] },
  })
  const endpoint = (at: number, ready: boolean) => ({
    addresses: [`10.1.0.${at}`],
    hostname: `db-${at}`,
    conditions: { ready },
  })
  const slice = await client.create(endpointSliceKind, {
    metadata: { name: 'db-x', namespace, labels: { [serviceNameLabel]: 'db' } },
    addressType: 'IPv4',
    endpoints: [endpoint(0, true), endpoint(1, false)],
    ports: [{ name: 'sql', port: 5432, protocol: 'TCP' }],
  })
  const name = `db.${namespace}.svc.cluster.local`
  await expect.poll(() => ask(name)).toEqual(['10.1.0.0'])
  expect(await ask(`db-1.${name}`)).toBe('ENOTFOUND')
  await client.update(endpointSliceKind, { ...slice, endpoints: [endpoint(0, true), endpoint(1, true)] })
  await expect.poll(() => ask(`db-1.${name}`)).toEqual(['10.1.0.1'])
  const locations = await resolver.resolveSrv(`_sql._tcp.${name}`)
  expect(locations.map((one) => `${one.name}:${one.port}`).toSorted()).toEqual([
    `db-0.${name}:5432`,
    `db-1.${name}:5432`,
  ])
})
