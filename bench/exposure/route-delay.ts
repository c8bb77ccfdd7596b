// From a write of an EndpointSlice until the edge's thread has the route, with `--exposures 200` in the cluster.
//   node bench/exposure/route-delay.ts [--exposures 200] [--changes 300]
import { parseArgs } from 'node:util'
import { MessageChannel } from 'node:worker_threads'
import { ClusterApi } from '../../src/apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../src/cluster/embedded-client.ts'
import { Informer } from '../../src/cluster/informer.ts'
import { RouteFeed, RouteMirror, type RouteNews } from '../../src/exposure/routes/route-mirror.ts'
import { RouteTable } from '../../src/exposure/routes/route-table.ts'
import { systemClock } from '../../src/foundation/clock.ts'
import { silentLogger } from '../../src/foundation/log.ts'
import { coreKinds, customKinds } from '../../src/resources/all-kinds.ts'
import { endpointSliceKind } from '../../src/resources/endpoint-slice.ts'
import { namespaceKind } from '../../src/resources/namespace.ts'
import { serviceExporterKind } from '../../src/resources/service-exporter.ts'
import { serviceKind } from '../../src/resources/service.ts'
import { MemoryStore } from '../../src/store/memory-store.ts'

const { values } = parseArgs({
  options: { exposures: { type: 'string', default: '200' }, changes: { type: 'string', default: '300' } },
})
const wantedMs = 100
const stop = new AbortController()
const store = new MemoryStore({ historyLimit: 10_000 })
const client = new EmbeddedClient(new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock: systemClock }))
await client.create(namespaceKind, { metadata: { name: 'web' } })
const names = Array.from({ length: Number(values.exposures) }, (_, index) => `s${index}`)
for (const name of names) {
  const metadata = { name, namespace: 'web' }
  await client.create(serviceKind, { metadata, spec: { ports: [{ name: 'http', port: 80 }] } })
  await client.create(serviceExporterKind, { metadata, spec: { serviceName: name, servicePort: 80 } })
  await client.create(endpointSliceKind, {
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['203.0.113.1'] }],
    ports: [{ name: 'http', port: 1 }],
  })
}
const common = { client, clock: systemClock, log: silentLogger }
const exporters = new Informer({ ...common, kind: serviceExporterKind })
const services = new Informer({ ...common, kind: serviceKind })
const slices = new Informer({ ...common, kind: endpointSliceKind })
const running = [exporters, services, slices].map((informer) => informer.run(stop.signal))
await Promise.all([exporters, services, slices].map((informer) => informer.whenSynced()))
const facts = { clusterId: 'c1', proxyDomain: 'localhost', port: 22443 }
const table = new RouteTable({ exporters, services, slices, facts })
const { port1, port2 } = new MessageChannel()
const mirror = new RouteMirror()
let heard = () => {}
port2.on('message', (news: RouteNews) => {
  mirror.hear(news)
  heard()
})
const feed = new RouteFeed(table, (news) => port1.postMessage(news))
mirror.hear(feed.whole())

const delays: number[] = []
for (let change = 0; change < Number(values.changes); change += 1) {
  const name = names[change % names.length] ?? ''
  const port = 2 + change
  const isThere = () => mirror.find(`${name}-x-web-x-c1.localhost`)?.endpoints[0]?.port === port
  const startedAt = performance.now()
  const arrived = new Promise<void>((resolve) => {
    heard = () => {
      if (isThere()) resolve()
    }
  })
  await client.patch(endpointSliceKind, { name, namespace: 'web' }, { ports: [{ name: 'http', port }] })
  await arrived
  delays.push(performance.now() - startedAt)
}
stop.abort()
await Promise.allSettled(running)
feed.close()
table.close()
port1.close()
await store.close()
const sorted = delays.toSorted((one, other) => one - other)
const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
console.log(
  `p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms, longest ${at(1).toFixed(1)} ms; wanted ${wantedMs}`,
)
process.exit(at(0.99) < wantedMs ? 0 : 1)
