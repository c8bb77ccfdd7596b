import * as fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FakeClock } from '../foundation/fake-clock.ts'
import type { EndpointSlice } from '../resources/endpoint-slice.ts'
import { HeldObjects } from '../resources/object-cache.ts'
import { type Secret, tlsSecretType } from '../resources/secret.ts'
import type { ServiceExporter } from '../resources/service-exporter.ts'
import type { Service } from '../resources/service.ts'
import { makeCertificate } from './certificates/made-certificate.fixture.ts'
import type { HostOwners } from './host-owners.ts'
import { planRoutes } from './plan-routes.ts'
import { type RouteChange, RouteTable } from './route-table.ts'

const facts = { clusterId: 'c1', proxyDomain: 'site-1.localhost', port: 22443 }

// Few names, so that hosts, Services and addresses meet often; two of them make one host.
const names = ['a', 'a-x-b', 'kubernetes'] as const
const namespaces = ['b-x-c', 'c', 'default'] as const
const addresses = ['10.0.0.1', '10.0.0.2', '10.9.0.1'] as const

function exporterOf(name: string, namespace: string, serviceName: string, extra: Partial<ServiceExporter> = {}) {
  return {
    apiVersion: 'sluice.dev/v1',
    kind: 'ServiceExporter',
    metadata: { name, namespace },
    spec: { serviceName, servicePort: 80 },
    ...extra,
  } satisfies ServiceExporter
}

function serviceOf(name: string, namespace: string, clusterIP: string): Service {
  const ports = [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' as const }]
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { type: 'ClusterIP', ports, clusterIP, clusterIPs: [clusterIP] },
  }
}

function sliceOf(name: string, namespace: string, service: string, hosts: readonly string[]): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace, labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints: hosts.map((host) => ({ addresses: [host], conditions: { ready: true } })),
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  }
}

class World {
  readonly exporters = new HeldObjects<ServiceExporter>()
  readonly services = new HeldObjects<Service>()
  readonly slices = new HeldObjects<EndpointSlice>()
  readonly secrets = new HeldObjects<Secret>()
  readonly clock = new FakeClock()
  /** Addresses that Pods have. */
  readonly #pods = new Set<string>()
  readonly #reachListeners = new Set<(addresses: readonly string[]) => void>()
  #hasNewLimits = false
  closed = ''
  readonly mayReach = (_namespace: string, { host }: { host: string }) => this.#pods.has(host) || host !== this.closed
  readonly table: RouteTable
  #owners: HostOwners = new Map()

  constructor() {
    for (const cache of [this.exporters, this.services, this.slices, this.secrets]) cache.synced = true
    const { exporters, services, slices, secrets, clock, mayReach } = this
    const reach = {
      mayReach,
      hasNewLimits: () => this.#hasNewLimits && !(this.#hasNewLimits = false),
      onChange: (listener: (addresses: readonly string[]) => void) => {
        this.#reachListeners.add(listener)
        return () => this.#reachListeners.delete(listener)
      },
    }
    this.table = new RouteTable({ exporters, services, slices, secrets, clock, facts, reach })
    onTestFinished(() => this.table.close())
  }

  pod(address: string, isThere: boolean): void {
    if (isThere) this.#pods.add(address)
    else this.#pods.delete(address)
    for (const listener of this.#reachListeners) listener([address])
  }

  close(address: string): void {
    this.closed = address
    this.#hasNewLimits = true
  }

  /** What planning all of it anew would say. */
  whole() {
    const { exporters, services, slices, mayReach } = this
    const plan = planRoutes(exporters.list(), services.list(), slices.list(), facts, this.#owners, { mayReach })
    this.#owners = plan.owners
    return { routes: sorted(plan.routes), verdicts: sorted(plan.verdicts) }
  }

  planned() {
    return { routes: sorted(this.table.routes), verdicts: sorted(this.table.verdicts) }
  }
}

function sorted<T>(map: ReadonlyMap<string, T>): ReadonlyArray<readonly [string, T]> {
  return [...map].toSorted(([one], [other]) => (one < other ? -1 : 1))
}

const name = fc.constantFrom(...names)
const namespace = fc.constantFrom(...namespaces)
const address = fc.constantFrom(...addresses)
const age = fc.constantFrom('2030-01-01T00:00:00Z', '2030-01-02T00:00:00Z')
/** Each of them changes the world. */
const change = fc.oneof(
  fc
    .record({ name, namespace, serviceName: name, age, isDeleted: fc.boolean(), isGoing: fc.boolean() })
    .map((one) => (world: World) => {
      const { serviceName, age: creationTimestamp, isDeleted, isGoing } = one
      const ref = { name: one.name, namespace: one.namespace }
      if (isDeleted) return world.exporters.remove(ref)
      const going = isGoing ? { deletionTimestamp: creationTimestamp } : {}
      world.exporters.put(
        exporterOf(ref.name, ref.namespace, serviceName, { metadata: { ...ref, creationTimestamp, ...going } }),
      )
    }),
  fc.record({ name, namespace, address, isDeleted: fc.boolean() }).map((one) => (world: World) => {
    if (one.isDeleted) world.services.remove(one)
    else world.services.put(serviceOf(one.name, one.namespace, one.address))
  }),
  fc
    .record({ name, namespace, service: name, hosts: fc.uniqueArray(address), isDeleted: fc.boolean() })
    .map((one) => (world: World) => {
      if (one.isDeleted) world.slices.remove(one)
      else world.slices.put(sliceOf(one.name, one.namespace, one.service, one.hosts))
    }),
  fc.record({ address, isThere: fc.boolean() }).map((one) => (world: World) => world.pod(one.address, one.isThere)),
)

describe('routes that are planned change by change', () => {
  it('are those that planning all of them anew would make', () => {
    fc.assert(
      fc.property(fc.array(fc.array(change, { maxLength: 3 }), { minLength: 60, maxLength: 60 }), (batches) => {
        const world = new World()
        // Led to only while it is a Pod's.
        world.closed = addresses[1]
        for (const batch of batches) {
          for (const apply of batch) apply(world)
          expect(world.planned()).toEqual(world.whole())
        }
      }),
      { numRuns: 100 },
    )
  })

  it('tell which hosts and exporters were touched, and no others', async () => {
    const world = new World()
    for (const one of ['a', 'b', 'c']) {
      world.exporters.put(exporterOf(one, 'web', one))
      world.services.put(serviceOf(one, 'web', `10.9.0.${one.charCodeAt(0)}`))
      world.slices.put(sliceOf(one, 'web', one, [`10.0.0.${one.charCodeAt(0)}`]))
    }
    const told: RouteChange[] = []
    world.table.onChange((news) => told.push(news))
    await Promise.resolve()
    expect(told).toEqual(['all'])
    world.slices.put(sliceOf('b', 'web', 'b', ['10.0.0.7']))
    world.exporters.put(exporterOf('c', 'web', 'a'))
    await Promise.resolve()
    const host = (one: string) => `${one}-x-web-x-c1.site-1.localhost`
    expect(told[1]).toEqual({
      hosts: new Set(['b', 'c', 'a'].map(host)),
      exporters: new Set(['web/b', 'web/c', 'web/a']),
    })
    world.pod('10.0.0.7', true)
    await Promise.resolve()
    expect(told[2]).toEqual({ hosts: new Set([host('b')]), exporters: new Set(['web/b']) })
    world.pod('10.0.0.8', true)
    await Promise.resolve()
    expect(told).toHaveLength(3)
  })

  it('are all planned again when the machine or a cluster has got an address', () => {
    const world = new World()
    for (const one of ['a', 'b']) {
      world.exporters.put(exporterOf(one, 'web', one))
      world.services.put(serviceOf(one, 'web', `10.9.0.${one.charCodeAt(0)}`))
      world.slices.put(sliceOf(one, 'web', one, ['203.0.113.1']))
    }
    expect(world.table.find('a-x-web-x-c1.site-1.localhost')?.endpoints).toHaveLength(1)
    world.close('203.0.113.1')
    world.services.put(serviceOf('b', 'web', '10.9.0.99'))
    expect(world.table.find('a-x-web-x-c1.site-1.localhost')?.endpoints).toHaveLength(0)
  })

  it('all move when the domain changes', async () => {
    const world = new World()
    world.exporters.put(exporterOf('a', 'web', 'a'))
    world.services.put(serviceOf('a', 'web', '10.9.0.1'))
    expect([...world.table.routes.keys()]).toEqual(['a-x-web-x-c1.site-1.localhost'])
    const told: RouteChange[] = []
    world.table.onChange((news) => told.push(news))
    world.table.livesBelow('elsewhere.test')
    expect([...world.table.routes.keys()]).toEqual(['a-x-web-x-c1.elsewhere.test'])
    await Promise.resolve()
    expect(told).toEqual(['all'])
    world.services.remove({ name: 'a', namespace: 'web' })
    expect(world.table.routes.size).toBe(0)
  })

  it('belong to whoever had them first once all exporters are known, not before', () => {
    const world = new World()
    world.exporters.synced = false
    const old = { creationTimestamp: '2029-01-01T00:00:00Z' }
    world.services.put(serviceOf('a-x-b', 'c', '10.9.0.1'))
    world.services.put(serviceOf('a', 'b-x-c', '10.9.0.2'))
    const host = 'a-x-b-x-c-x-c1.site-1.localhost'
    world.exporters.put(exporterOf('e', 'c', 'a-x-b', { metadata: { name: 'e', namespace: 'c' } }))
    expect(world.table.find(host)?.exporter).toBe('c/e')
    world.exporters.put(exporterOf('e', 'b-x-c', 'a', { metadata: { name: 'e', namespace: 'b-x-c', ...old } }))
    expect(world.table.find(host)?.exporter).toBe('b-x-c/e')
    world.exporters.synced = true
    expect(world.table.find(host)?.exporter).toBe('b-x-c/e')
    const older = { name: 'e', namespace: 'c', creationTimestamp: '2028-01-01T00:00:00Z' }
    world.exporters.put(exporterOf('e', 'c', 'a-x-b', { metadata: older }))
    expect(world.table.find(host)?.exporter).toBe('b-x-c/e')
  })
})

describe('the certificate of a host', () => {
  const host = 'a-x-web-x-c1.site-1.localhost'

  async function withCertificate(validMs: number) {
    const world = new World()
    const notAfter = new Date(world.clock.now() + validMs)
    const { key, cert } = await makeCertificate([host], { notBefore: new Date(0), notAfter })
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    world.secrets.put({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'mine', namespace: 'web' },
      type: tlsSecretType,
      data: { 'tls.crt': base64(cert), 'tls.key': base64(key) },
    })
    world.services.put(serviceOf('a', 'web', '10.9.0.1'))
    world.exporters.put(
      exporterOf('a', 'web', 'a', { spec: { serviceName: 'a', servicePort: 80, tlsSecretName: 'mine' } }),
    )
    const problem = () => {
      const verdict = world.table.verdictOn('web/a')
      return verdict?.exposed ? verdict.certificate?.problem?.reason : 'refused'
    }
    const told: RouteChange[] = []
    expect(problem()).toBeUndefined()
    await Promise.resolve()
    world.table.onChange((news) => told.push(news))
    return { world, problem, told, until: notAfter.getTime() }
  }

  it('is said to have expired when it does, without any other change', async () => {
    const days = 40
    const { world, problem, told, until } = await withCertificate(days * 24 * 3_600_000)
    await world.clock.advance(until - world.clock.now() - 1)
    expect([problem(), told]).toEqual([undefined, []])
    await world.clock.advance(1)
    expect(problem()).toBe('CertificateExpired')
    await Promise.resolve()
    expect(told).toEqual([{ hosts: new Set([host]), exporters: new Set(['web/a']) }])
  })

  it('is not waited for any more when the host is gone', async () => {
    const { world, told } = await withCertificate(60_000)
    world.exporters.remove({ name: 'a', namespace: 'web' })
    await Promise.resolve()
    expect(told).toHaveLength(1)
    await world.clock.advance(120_000)
    await Promise.resolve()
    expect(told).toHaveLength(1)
  })

  it('is looked at again when its Secret changes', async () => {
    const { world, problem } = await withCertificate(60_000)
    world.secrets.remove({ name: 'mine', namespace: 'web' })
    expect(problem()).toBe('SecretNotFound')
  })
})
