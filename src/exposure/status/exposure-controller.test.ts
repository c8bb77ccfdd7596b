import { describe, expect, it, onTestFinished } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { Informer, type ObjectChange } from '../../cluster/informer.ts'
import { systemClock } from '../../foundation/clock.ts'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { endpointSliceKind } from '../../resources/endpoint-slice.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { secretKind, tlsSecretType } from '../../resources/secret.ts'
import { type ServiceExporter, serviceExporterKind } from '../../resources/service-exporter.ts'
import { type Service, serviceKind } from '../../resources/service.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { makeCertificate } from '../certificates/made-certificate.fixture.ts'
import { ExposureController } from './exposure-controller.ts'
import { RouteTable } from '../routes/route-table.ts'

async function startExposure() {
  const stop = new AbortController()
  const store = new MemoryStore({ historyLimit: 1_000 })
  const client = new EmbeddedClient(
    new ClusterApi({ store, kinds: [...coreKinds, ...customKinds], clock: systemClock }),
  )
  await client.create(namespaceKind, { metadata: { name: 'web' } })
  const common = { client, clock: systemClock, log: silentLogger }
  const exporters = new Informer({ ...common, kind: serviceExporterKind })
  const services = new Informer({ ...common, kind: serviceKind })
  const slices = new Informer({ ...common, kind: endpointSliceKind })
  const secrets = new Informer({ ...common, kind: secretKind, scope: { fields: { type: tlsSecretType } } })
  const routes = new RouteTable({
    exporters,
    services,
    slices,
    secrets,
    facts: { clusterId: 'c1', proxyDomain: 'site-1.localhost', port: 22443 },
  })
  const told: string[] = []
  const events = { record: (_about: unknown, _type: string, reason: string) => void told.push(reason) }
  const controller = new ExposureController({ ...common, exporters, routes, events })
  const running = [exporters, services, slices, secrets, controller].map((part) => part.run(stop.signal))
  onTestFinished(async () => {
    stop.abort()
    await Promise.allSettled(running)
    routes.close()
    await store.close()
  })
  await Promise.all([exporters, services, slices, secrets].map((informer) => informer.whenSynced()))
  /** The exporter as soon as it says what is expected. */
  const when = (name: string, holds: (exporter: ServiceExporter) => boolean) =>
    new Promise<ServiceExporter>((resolve) => {
      const look = () => {
        const found = exporters.get({ namespace: 'web', name })
        if (!found || !holds(found)) return
        forget()
        resolve(found)
      }
      const forget = exporters.onChange(look)
      look()
    })
  return { client, routes, when, told }
}

const reasonOf = ({ status }: ServiceExporter) => status?.conditions?.find(({ type }) => type === 'Ready')?.reason

const slice = {
  metadata: { name: 'shop-1', namespace: 'web', labels: { 'kubernetes.io/service-name': 'shop' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['127.64.0.7'] }],
  ports: [{ name: 'http', port: 8080 }],
}

describe('ExposureController', () => {
  it('tells a ServiceExporter why it is not reachable, and where it is once the Service is there', async () => {
    const { client, routes, when, told } = await startExposure()
    await client.create(serviceExporterKind, {
      metadata: { name: 'shop', namespace: 'web' },
      spec: { serviceName: 'shop', servicePort: 80 },
    })
    const refused = await when('shop', (one) => reasonOf(one) === 'ServiceNotFound')
    expect(refused.status?.url).toBeUndefined()
    await client.create(serviceKind, {
      metadata: { name: 'shop', namespace: 'web' },
      spec: { ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
    })
    const url = 'https://shop-x-web-x-c1.site-1.localhost:22443'
    const alone = await when('shop', (one) => reasonOf(one) === 'NoReadyEndpoint')
    expect(alone.status).toMatchObject({ url, conditions: [{ type: 'Ready', status: 'False' }] })

    await client.create(endpointSliceKind, slice)
    const exposed = await when('shop', (one) => reasonOf(one) === 'Exposed')
    expect(exposed.status).toMatchObject({ url, conditions: [{ type: 'Ready', status: 'True' }] })
    const host = 'shop-x-web-x-c1.site-1.localhost'
    expect(routes.find(host)?.endpoints).toEqual([{ host: '127.64.0.7', port: 8080 }])

    await client.delete(endpointSliceKind, slice.metadata)
    await when('shop', (one) => reasonOf(one) === 'NoReadyEndpoint')
    expect(told).toEqual(['ServiceNotFound', 'NoReadyEndpoint', 'Exposed', 'NoReadyEndpoint'])
  })

  it('takes the address back when the Service goes', async () => {
    const { client, routes, when } = await startExposure()
    const metadata = { name: 'shop', namespace: 'web' }
    await client.create(endpointSliceKind, slice)
    await client.create(serviceKind, { metadata, spec: { ports: [{ name: 'http', port: 80 }] } })
    await client.create(serviceExporterKind, { metadata, spec: { serviceName: 'shop', servicePort: 80 } })
    await when('shop', (one) => reasonOf(one) === 'Exposed')
    await client.delete(serviceKind, metadata)
    const refused = await when('shop', (one) => reasonOf(one) === 'ServiceNotFound')
    expect(refused.status?.url).toBeUndefined()
    expect(routes.find('shop-x-web-x-c1.site-1.localhost')).toBeUndefined()
  })

  it('says which certificate is shown, and why it is not the one that was named', async () => {
    const { client, routes, when, told } = await startExposure()
    const metadata = { name: 'shop', namespace: 'web' }
    const host = 'shop-x-web-x-c1.site-1.localhost'
    const certificate = await makeCertificate([host], { notAfter: new Date(Date.now() + 3_600_000) })
    await client.create(endpointSliceKind, slice)
    await client.create(serviceKind, { metadata, spec: { ports: [{ name: 'http', port: 80 }] } })
    await client.create(serviceExporterKind, {
      metadata,
      spec: { serviceName: 'shop', servicePort: 80, tlsSecretName: 'mine' },
    })
    const shown = (reason: string) =>
      when('shop', ({ status }) => status?.conditions?.some((one) => one.reason === reason) === true)
    expect((await shown('SecretNotFound')).status?.conditions).toMatchObject([
      { type: 'Ready', status: 'True' },
      { type: 'Certificate', status: 'False' },
    ])
    const stringData = { 'tls.crt': certificate.cert, 'tls.key': certificate.key }
    const secret = { metadata: { name: 'mine', namespace: 'web' }, type: tlsSecretType, stringData }
    await client.create(secretKind, secret)
    await shown('OwnCertificate')
    expect(routes.find(host)?.certificate).toEqual(certificate)
    await client.patch(serviceExporterKind, metadata, { spec: { tlsSecretName: null } })
    const plain = await when('shop', ({ status }) => status?.conditions?.length === 1)
    expect([plain.status?.conditions?.[0]?.type, routes.find(host)?.certificate]).toEqual(['Ready', undefined])
    expect(told).toEqual(['Exposed', 'SecretNotFound', 'OwnCertificate'])
  })

  it('writes nothing when nothing changed', async () => {
    const { client, when } = await startExposure()
    const metadata = { name: 'shop', namespace: 'web' }
    await client.create(endpointSliceKind, slice)
    await client.create(serviceKind, { metadata, spec: { ports: [{ name: 'http', port: 80 }] } })
    await client.create(serviceExporterKind, { metadata, spec: { serviceName: 'shop', servicePort: 80 } })
    const { metadata: told } = await when('shop', (one) => reasonOf(one) === 'Exposed')
    await client.patch(serviceKind, metadata, { metadata: { labels: { any: 'change' } } })
    await client.create(serviceExporterKind, {
      metadata: { name: 'second', namespace: 'web' },
      spec: { serviceName: 'shop', servicePort: 80 },
    })
    await when('second', (one) => reasonOf(one) === 'HostTaken')
    const now = await client.get(serviceExporterKind, metadata)
    expect(now?.metadata.resourceVersion).toBe(told.resourceVersion)
  })

  it('asks a cluster that never takes the status a few times, although every change of a route brings it up again', async () => {
    const clock = new FakeClock()
    const exporter: ServiceExporter = {
      apiVersion: 'sluice.dev/v1',
      kind: 'ServiceExporter',
      metadata: { name: 'shop', namespace: 'web', uid: 'u', resourceVersion: '1', generation: 1 },
      spec: { serviceName: 'shop', servicePort: 80 },
    }
    let tries = 0
    const refusing = new Proxy(new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds: [], clock })), {
      get: (target, property) => {
        if (property !== 'updateStatus') return Reflect.get(target, property)
        return () => Promise.reject(new Error(`refused, try ${(tries += 1)}`))
      },
    })
    const exporters = {
      synced: true,
      get: () => exporter,
      list: () => [exporter],
      onChange: () => () => {},
    }
    const nothing = { synced: true, get: () => undefined, list: () => [], onChange: () => () => {} }
    const hearing = new Set<() => void>()
    const services = {
      ...nothing,
      onChange: (listener: (change: ObjectChange<Service>) => void) => {
        const service: Service = {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'other' },
          spec: { type: 'ClusterIP' },
        }
        hearing.add(() => listener({ type: 'updated', object: service }))
        return () => {}
      },
    }
    const facts = { clusterId: 'c1', proxyDomain: 'site-1.localhost', port: 22443 }
    const routes = new RouteTable({ exporters, services, slices: nothing, facts })
    const controller = new ExposureController({ client: refusing, exporters, routes, clock, log: silentLogger })
    const stop = new AbortController()
    const running = controller.run(stop.signal)
    for (let second = 0; second < 600; second += 1) {
      for (const tell of hearing) tell()
      await clock.advance(1_000)
    }
    stop.abort()
    await running
    routes.close()
    expect(tries).toBeGreaterThan(10)
    expect(tries).toBeLessThan(200)
  })
})
