import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClusterApi } from '../../apiserver/cluster-api.ts'
import { EmbeddedClient } from '../../cluster/embedded-client.ts'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { coreKinds, customKinds } from '../../resources/all-kinds.ts'
import { endpointSliceKind } from '../../resources/endpoint-slice.ts'
import { type Endpoints, endpointsKind } from '../../resources/endpoints.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { podKind } from '../../resources/pod.ts'
import { serviceKind, serviceSchema } from '../../resources/service.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { planLegacyEndpoints } from './legacy-endpoints-plan.ts'
import { WorkloadControllers } from '../workload-controllers.ts'

const namespace = 'default'
const ref = { namespace, name: 'web' }
const soon = { timeout: 20_000, interval: 10 }
const ports = [{ name: 'http', port: 80, targetPort: 8000 }]

let client: EmbeddedClient
let controllers: WorkloadControllers

beforeEach(async () => {
  const kinds = [...coreKinds, ...customKinds]
  client = new EmbeddedClient(new ClusterApi({ store: new MemoryStore(), kinds, clock: systemClock }))
  await client.create(namespaceKind, { metadata: { name: namespace } })
  const finalizeNamespace = (name: string) => client.finalizeNamespace(name)
  controllers = new WorkloadControllers({ client, finalizeNamespace, clock: systemClock, log: silentLogger })
  await controllers.start(new AbortController().signal)
})

afterEach(() => controllers.stop())

const subsets = async () => {
  const found = await client.get(endpointsKind, ref)
  return found && (found.subsets ?? [])
}
const sliced = async () =>
  (await client.list(endpointSliceKind, { namespace })).items.map(({ addressType, endpoints, ports: found }) => ({
    addressType,
    addresses: endpoints.map(({ addresses, conditions }) => [addresses[0], conditions?.ready]),
    ports: (found ?? []).map(({ port }) => port),
  }))

function createService(selector?: Record<string, string>) {
  return client.create(serviceKind, {
    metadata: { ...ref, labels: { tier: 'front' } },
    spec: { ...(selector && { selector }), ports },
  })
}

async function createPod(name: string, podIP: string, ready: boolean, spec: Record<string, unknown> = {}) {
  const containers = [{ name: 'main', image: 'i' }]
  const metadata = { name, namespace, labels: { app: 'web' } }
  await client.create(podKind, { metadata, spec: { containers, ...spec } })
  const conditions = [{ type: 'Ready', status: ready ? ('True' as const) : ('False' as const) }]
  const status = { phase: 'Running', podIP, conditions } as const
  // Whatever the scheduler reports about it meanwhile.
  await client.changeStatus(podKind, { namespace, name }, (current) => ({ ...current, status }))
}

describe('the Endpoints of a Service with a selector', () => {
  it('say who is ready and who is not, with the labels of the Service, and go with it', async () => {
    await createService({ app: 'web' })
    await expect.poll(subsets, soon).toEqual([])
    await createPod('a', '10.1.0.1', true, { hostname: 'first', subdomain: 'web' })
    await createPod('b', '10.1.0.2', false)
    await expect.poll(subsets, soon).toMatchObject([
      {
        addresses: [{ ip: '10.1.0.1', hostname: 'first', targetRef: { kind: 'Pod', name: 'a' } }],
        notReadyAddresses: [{ ip: '10.1.0.2', targetRef: { kind: 'Pod', name: 'b' } }],
        ports: [{ name: 'http', port: 8000, protocol: 'TCP' }],
      },
    ])
    const written = await client.get(endpointsKind, ref)
    expect(written?.metadata.labels).toEqual({
      tier: 'front',
      'endpoints.kubernetes.io/managed-by': 'endpoint-controller',
    })
    expect(await sliced()).toHaveLength(1)
    await client.delete(serviceKind, ref)
    await expect.poll(() => client.get(endpointsKind, ref), soon).toBeUndefined()
  })

  it('are put right when somebody else writes them', async () => {
    await createService({ app: 'web' })
    await createPod('a', '10.1.0.1', true)
    const ips = async () => (await subsets())?.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip))
    await expect.poll(ips, soon).toEqual(['10.1.0.1'])
    await client.patch(endpointsKind, ref, { subsets: [{ addresses: [{ ip: '10.9.9.9' }], ports: [{ port: 1 }] }] })
    await expect.poll(ips, soon).toEqual(['10.1.0.1'])
  })

  it('are cut at what one object can hold, which an annotation says', () => {
    const service = serviceSchema.parse({ apiVersion: 'v1', kind: 'Service', metadata: ref, spec: { ports } })
    const endpoints = Array.from({ length: 1001 }, (_, index) => ({
      addresses: [`10.1.${Math.floor(index / 250)}.${index % 250}`],
      conditions: { ready: true },
    }))
    const slice = endpointSliceKind.schema.parse({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'web-1', namespace },
      addressType: 'IPv4',
      endpoints,
    })
    const planned: Endpoints = planLegacyEndpoints(service, [slice])
    expect(planned.subsets?.[0]?.addresses).toHaveLength(1000)
    expect(planned.metadata.annotations).toEqual({ 'endpoints.kubernetes.io/over-capacity': 'truncated' })
  })
})

it('Endpoints are of the first family of a Service that has two', () => {
  const slice = (addressType: 'IPv4' | 'IPv6', address: string) => ({
    apiVersion: 'discovery.k8s.io/v1' as const,
    kind: 'EndpointSlice' as const,
    metadata: { name: `web-${addressType.toLowerCase()}`, namespace },
    addressType,
    endpoints: [{ addresses: [address] }],
  })
  const slices = [slice('IPv4', '10.1.0.1'), slice('IPv6', 'fd00::1')]
  const planned = (ipFamilies: string[]) => {
    const service = serviceSchema.parse({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: ref,
      spec: { ipFamilies, ports },
    })
    return planLegacyEndpoints(service, slices).subsets?.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip))
  }
  expect(planned(['IPv4', 'IPv6'])).toEqual(['10.1.0.1'])
  expect(planned(['IPv6', 'IPv4'])).toEqual(['fd00::1'])
})

describe('Endpoints that somebody wrote', () => {
  const written = (ip: string) => [
    { addresses: [{ ip }], notReadyAddresses: [{ ip: 'fd00::1' }], ports: [{ port: 80 }] },
  ]

  it('become slices of a Service without a selector, one for each family, and change and go with them', async () => {
    await createService()
    await client.create(endpointsKind, { metadata: ref, subsets: written('10.1.2.3') })
    await expect.poll(sliced, soon).toEqual([
      { addressType: 'IPv4', addresses: [['10.1.2.3', true]], ports: [80] },
      { addressType: 'IPv6', addresses: [['fd00::1', false]], ports: [80] },
    ])
    await client.patch(endpointsKind, ref, { subsets: [{ addresses: [{ ip: '10.2.3.4' }], ports: [{ port: 80 }] }] })
    await expect.poll(sliced, soon).toEqual([{ addressType: 'IPv4', addresses: [['10.2.3.4', true]], ports: [80] }])
    await client.delete(endpointsKind, ref)
    await expect.poll(sliced, soon).toEqual([])
  })

  it('wait for their Service, and stay when it goes', async () => {
    await client.create(endpointsKind, { metadata: ref, subsets: written('10.1.2.3') })
    await createService()
    await expect.poll(async () => (await sliced()).length, soon).toBe(2)
    await client.delete(serviceKind, ref)
    await expect.poll(sliced, soon).toEqual([])
    expect(await subsets()).toHaveLength(1)
  })

  it.each([
    ['that want none', { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }],
    ['of leaders', { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }],
  ])('%s are left alone', async (_name, metadata) => {
    await createService()
    await client.create(endpointsKind, { metadata: { ...ref, ...metadata }, subsets: written('10.1.2.3') })
    // What is created after them is processed after them, too.
    const other = { namespace, name: 'other' }
    await client.create(serviceKind, { metadata: other, spec: { ports } })
    await client.create(endpointsKind, { metadata: other, subsets: [{ addresses: [{ ip: '10.5.5.5' }] }] })
    await expect.poll(sliced, soon).toEqual([{ addressType: 'IPv4', addresses: [['10.5.5.5', true]], ports: [] }])
  })
})
