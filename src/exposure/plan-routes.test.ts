import { describe, expect, it } from 'vitest'
import type { EndpointSlice } from '../resources/endpoint-slice.ts'
import type { ServiceExporter } from '../resources/service-exporter.ts'
import type { Service } from '../resources/service.ts'
import { planRoutes } from './plan-routes.ts'

const facts = { clusterId: 'c1', proxyDomain: 'Site-1.localhost', port: 22443 }

function exporter(
  name: string,
  serviceName: string,
  servicePort: number,
  extra: Record<string, unknown> = {},
): ServiceExporter {
  return {
    apiVersion: 'sluice.dev/v1',
    kind: 'ServiceExporter',
    metadata: { name, namespace: 'web', creationTimestamp: '2030-01-01T00:00:00Z', ...extra },
    spec: { serviceName, servicePort },
  }
}

function service(name: string, ports: Service['spec']['ports'], namespace = 'web'): Service {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec: { type: 'ClusterIP', ports } }
}

function slice(
  serviceName: string,
  addresses: readonly string[],
  ports: EndpointSlice['ports'],
  conditions: Record<string, boolean> = { ready: true },
): EndpointSlice {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${serviceName}-${addresses.join('-')}`,
      namespace: 'web',
      labels: { 'kubernetes.io/service-name': serviceName },
    },
    addressType: 'IPv4',
    endpoints: addresses.map((address) => ({ addresses: [address], conditions })),
    ports,
  }
}

const http = { name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' as const }
const shop = service('shop', [http])

describe('planRoutes', () => {
  it('counts an endpoint with an address of each family once', () => {
    const ports = [{ name: 'http', port: 8080, protocol: 'TCP' as const }]
    const six = { ...slice('shop', ['fd00::1'], ports), addressType: 'IPv6' as const }
    const endpoints = (slices: EndpointSlice[]) => {
      const { routes } = planRoutes([exporter('a', 'shop', 80)], [shop], slices, facts)
      return [...routes.values()].flatMap((route) => route.endpoints.map(({ host }) => host))
    }
    expect(endpoints([slice('shop', ['10.0.0.1'], ports), six])).toEqual(['10.0.0.1'])
    expect(endpoints([slice('shop', [], ports), six])).toEqual(['fd00::1'])
  })

  it('leads a host to the ready endpoints of the port the Service names', () => {
    const slices = [
      slice(
        'shop',
        ['10.0.0.2', '10.0.0.1'],
        [
          { name: 'metrics', port: 9090, protocol: 'TCP' },
          { name: 'http', port: 8080, protocol: 'TCP' },
        ],
      ),
      slice('shop', ['10.0.0.3'], [{ name: 'http', port: 8080, protocol: 'TCP' }], { ready: false }),
      slice('shop', ['10.0.0.4'], [{ name: 'http', port: 8080, protocol: 'TCP' }], { ready: true, terminating: true }),
      slice('shop', ['10.0.0.1'], [{ name: 'http', port: 8080, protocol: 'TCP' }]),
      slice('other', ['10.0.0.5'], [{ name: 'http', port: 8080, protocol: 'TCP' }]),
    ]
    const { routes, verdicts } = planRoutes([exporter('e', 'shop', 80)], [shop], slices, facts)
    expect([...routes.values()]).toEqual([
      {
        host: 'shop-x-web-x-c1.site-1.localhost',
        cluster: 'c1',
        exporter: 'web/e',
        endpoints: [
          { host: '10.0.0.1', port: 8080 },
          { host: '10.0.0.2', port: 8080 },
        ],
      },
    ])
    expect(verdicts.get('web/e')).toEqual({ exposed: true, url: 'https://shop-x-web-x-c1.site-1.localhost:22443' })
  })

  it.each([
    ['an unnamed port', [{ port: 80, protocol: 'TCP' as const }], [{ port: 3000, protocol: 'TCP' }], 3000],
    [
      'a number, when a slice made by hand has another name',
      [http],
      [{ name: 'x', port: 8080, protocol: 'TCP' }],
      8080,
    ],
    [
      'the port itself, without targetPort',
      [{ port: 80, protocol: 'TCP' as const }],
      [{ name: 'x', port: 80, protocol: 'TCP' }],
      80,
    ],
  ])('finds the endpoint port by %s', (_case, ports, slicePorts, found) => {
    const plan = planRoutes(
      [exporter('e', 'shop', 80)],
      [service('shop', ports)],
      [slice('shop', ['10.0.0.1'], slicePorts)],
      facts,
    )
    expect([...plan.routes.values()][0]?.endpoints).toEqual([{ host: '10.0.0.1', port: found }])
  })

  it('keeps the address of a Service that has no ready endpoint, and says that nobody answers there', () => {
    const { routes, verdicts } = planRoutes([exporter('e', 'shop', 80)], [shop], [], facts)
    expect([...routes.values()][0]?.endpoints).toEqual([])
    expect(verdicts.get('web/e')).toMatchObject({ exposed: true, unready: { reason: 'NoReadyEndpoint' } })
  })

  it('leads only where it may, and says so when nothing else is left', () => {
    const tcp = [{ name: 'http', port: 8080, protocol: 'TCP' as const }]
    const slices = [slice('shop', ['10.0.0.1', '169.254.169.254'], tcp)]
    const planned = (mayReach: (namespace: string, endpoint: { host: string }) => boolean) =>
      planRoutes([exporter('e', 'shop', 80)], [shop], slices, facts, new Map(), { mayReach })
    const some = planned((namespace, { host }) => namespace === 'web' && host !== '169.254.169.254')
    expect([...some.routes.values()][0]?.endpoints).toEqual([{ host: '10.0.0.1', port: 8080 }])
    expect(some.verdicts.get('web/e')).toMatchObject({ exposed: true, unready: undefined })
    const none = planned(() => false)
    expect([...none.routes.values()][0]?.endpoints).toEqual([])
    expect(none.verdicts.get('web/e')).toMatchObject({
      unready: { reason: 'EndpointsRefused', message: expect.stringContaining('10.0.0.1:8080') },
    })
  })

  it('leads neither to the addresses of other Services nor to the API of the cluster', () => {
    const tcp = [{ name: 'http', port: 8080, protocol: 'TCP' as const }]
    const other = service('bank', [http], 'money')
    const bank = { ...other, spec: { ...other.spec, clusterIP: '10.9.0.1', clusterIPs: ['10.9.0.1', 'fd09::1'] } }
    const kubernetes = slice('kubernetes', ['203.0.113.7'], [{ name: 'https', port: 6443, protocol: 'TCP' }])
    const api = { ...kubernetes, metadata: { ...kubernetes.metadata, namespace: 'default' } }
    const byHand = [
      slice('shop', ['10.9.0.1', '203.0.113.8'], tcp),
      slice('shop', ['203.0.113.7'], [{ name: 'http', port: 6443, protocol: 'TCP' }]),
    ]
    const { routes } = planRoutes([exporter('e', 'shop', 80)], [shop, bank], [...byHand, api], facts)
    expect([...routes.values()][0]?.endpoints).toEqual([{ host: '203.0.113.8', port: 8080 }])
  })

  it.each([
    ['ServiceNotFound', exporter('e', 'nope', 80)],
    ['PortNotFound', exporter('e', 'shop', 81)],
    ['NameTooLong', exporter('e', 's'.repeat(60), 80)],
  ])('refuses with %s', (reason, one) => {
    const { routes, verdicts } = planRoutes([one], [shop], [], facts)
    expect(routes.size).toBe(0)
    expect(verdicts.get('web/e')).toMatchObject({ exposed: false, reason })
  })

  it('takes a name of exactly 63 characters', () => {
    const name = 's'.repeat(63 - '-x-web-x-c1'.length)
    const { verdicts } = planRoutes([exporter('e', name, 80)], [service(name, [http])], [], facts)
    expect(verdicts.get('web/e')).toMatchObject({ exposed: true })
  })

  it('leaves a host to the older binding', () => {
    const older = exporter('z-older', 'shop', 80, { creationTimestamp: '2029-01-01T00:00:00Z' })
    const younger = exporter('a-younger', 'shop', 80)
    const { routes, verdicts } = planRoutes([younger, older], [shop], [], facts)
    expect([...routes.values()][0]?.exporter).toBe('web/z-older')
    expect(verdicts.get('web/a-younger')).toMatchObject({ exposed: false, reason: 'HostTaken' })
  })

  it('leaves a host to the binding that has it when both are of one second', () => {
    const holder = {
      ...exporter('z-holder', 'shop', 80),
      status: { url: 'https://shop-x-web-x-c1.site-1.localhost:22443' },
    }
    const { routes } = planRoutes([exporter('a-late', 'shop', 80), holder], [shop], [], facts)
    expect([...routes.values()][0]?.exporter).toBe('web/z-holder')
  })

  describe('where two names make one host', () => {
    const old = { creationTimestamp: '2029-01-01T00:00:00Z' }
    const honest = exporter('e', 'a-x-b', 80)
    const renamed = exporter('e', 'a', 80, { namespace: 'b-x-web', ...old })
    const both = [service('a-x-b', [http]), service('a', [http], 'b-x-web')]
    const host = 'a-x-b-x-web-x-c1.site-1.localhost'

    it('leaves it to the older one, also while that one leads nowhere', () => {
      const { routes, verdicts } = planRoutes([honest, renamed], [service('a-x-b', [http])], [], facts)
      expect(verdicts.get('web/e')).toMatchObject({ reason: 'HostTaken' })
      expect(verdicts.get('b-x-web/e')).toMatchObject({ reason: 'ServiceNotFound' })
      expect(routes.size).toBe(0)
    })

    it('lets nobody take it over by pointing an older binding at it', () => {
      const { owners } = planRoutes([honest], both, [], facts)
      const after = planRoutes([honest, renamed], both, [], facts, owners)
      expect(after.routes.get(host)?.exporter).toBe('web/e')
      expect(after.verdicts.get('b-x-web/e')).toMatchObject({
        exposed: false,
        reason: 'HostTaken',
        message: expect.stringContaining('web/e'),
      })
    })

    it('lets nobody take it over while its Service is replaced', () => {
      const { owners } = planRoutes([honest], both, [], facts)
      const meanwhile = planRoutes([honest, renamed], both.slice(1), [], facts, owners)
      expect(meanwhile.routes.size).toBe(0)
      const after = planRoutes([honest, renamed], both, [], facts, meanwhile.owners)
      expect(after.routes.get(host)?.exporter).toBe('web/e')
    })

    it('knows after a start who has it by what was written there', () => {
      const holder = { ...honest, status: { url: `https://${host}:22443` } }
      expect(planRoutes([holder, renamed], both, [], facts).routes.get(host)?.exporter).toBe('web/e')
    })

    it('gives it to the other one when the first lets go', () => {
      const { owners } = planRoutes([honest], both, [], facts)
      expect(planRoutes([renamed], both, [], facts, owners).routes.get(host)?.exporter).toBe('b-x-web/e')
    })
  })

  it('forgets a binding that is being deleted', () => {
    const { routes, verdicts } = planRoutes(
      [exporter('e', 'shop', 80, { deletionTimestamp: '2030-01-01T00:00:00Z' })],
      [shop],
      [],
      facts,
    )
    expect([routes.size, verdicts.size]).toEqual([0, 0])
  })
})
