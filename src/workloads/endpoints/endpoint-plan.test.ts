import { describe, expect, it } from 'vitest'
import { type Pod, podSchema } from '../../resources/pod.ts'
import { serviceSchema } from '../../resources/service.ts'
import { planEndpointSlices } from './endpoint-plan.ts'

function service(ports: unknown[], extra: Record<string, unknown> = {}) {
  return serviceSchema.parse({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default', uid: 's' },
    spec: { selector: { app: 'web' }, ports, ...extra },
  })
}

function pod(name: string, ready: boolean, extra: { metadata?: object; status?: object; port?: number } = {}): Pod {
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }]
  return podSchema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', uid: name, labels: { app: 'web' }, ...extra.metadata },
    spec: {
      nodeName: 'here',
      containers: [{ name: 'main', ports: [{ name: 'http', containerPort: extra.port ?? 8000 }] }],
    },
    status: { podIP: `127.64.0.${name}`, conditions, ...extra.status },
  })
}

const byName = [{ name: 'api', port: 80, targetPort: 'http' }]

describe('planEndpointSlices', () => {
  it('has slices of each family of the Service, with the Pods that have an address of it', () => {
    const podIPs = (four: string, six: string) => ({ podIP: four, podIPs: [{ ip: four }, { ip: six }] })
    const pods = [pod('1', true, { status: podIPs('10.0.0.1', 'fd00::1') }), pod('2', true)]
    const planned = (extra: object) =>
      planEndpointSlices(service(byName, { ...extra }), pods).map(({ addressType, endpoints }) => [
        addressType,
        ...endpoints.flatMap(({ addresses }) => addresses),
      ])
    const [four, six] = [
      ['IPv4', '10.0.0.1', '127.64.0.2'],
      ['IPv6', 'fd00::1'],
    ]
    expect(planned({})).toEqual([four])
    expect(planned({ ipFamilies: ['IPv4'] })).toEqual([four])
    expect(planned({ ipFamilies: ['IPv6'] })).toEqual([six])
    expect(planned({ ipFamilies: ['IPv6', 'IPv4'] })).toEqual([four, six])
    const names = planEndpointSlices(service(byName, { ipFamilies: ['IPv4', 'IPv6'] }), [])
    expect(new Set(names.map(({ metadata }) => metadata.name)).size).toBe(2)
  })

  it.each([
    ['ready', pod('1', true), { ready: true, serving: true, terminating: false }],
    ['not ready', pod('1', false), { ready: false, serving: false, terminating: false }],
    [
      'terminating',
      pod('1', true, { metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' } }),
      { ready: false, serving: true, terminating: true },
    ],
  ])('lists a Pod that is %s with its conditions', (_name, candidate, conditions) => {
    const [slice] = planEndpointSlices(service(byName), [candidate])
    expect(slice?.endpoints).toEqual([
      {
        addresses: ['127.64.0.1'],
        conditions,
        nodeName: 'here',
        targetRef: { kind: 'Pod', namespace: 'default', name: '1', uid: '1' },
      },
    ])
    expect(slice?.ports).toEqual([{ name: 'api', port: 8000, protocol: 'TCP' }])
  })

  it.each([
    ['has other labels', pod('1', true, { metadata: { labels: { app: 'x' } } })],
    ['is elsewhere', pod('1', true, { metadata: { namespace: 'other' } })],
    ['has no address yet', pod('1', false, { status: { podIP: undefined } })],
    ['has finished', pod('1', false, { status: { phase: 'Succeeded' } })],
  ])('leaves out a Pod that %s', (_name, candidate) => {
    const slices = planEndpointSlices(service(byName), [candidate])
    expect(slices).toHaveLength(1)
    expect(slices[0]?.endpoints).toEqual([])
  })

  it('makes a slice for each port a name stands for', () => {
    const slices = planEndpointSlices(service(byName), [pod('1', true), pod('2', true, { port: 9000 }), pod('3', true)])
    expect(slices.map(({ ports, endpoints }) => [ports?.[0]?.port, endpoints.length])).toEqual([
      [8000, 2],
      [9000, 1],
    ])
    expect(new Set(slices.map(({ metadata }) => metadata.name)).size).toBe(2)
  })

  it('takes target ports by number, or the port itself', () => {
    const [slice] = planEndpointSlices(
      service([
        { name: 'a', port: 80, targetPort: 8080 },
        { name: 'b', port: 81 },
      ]),
      [pod('1', true)],
    )
    expect(slice?.ports?.map(({ port }) => port)).toEqual([8080, 81])
  })

  it('publishes who is not ready when the Service says so', () => {
    const [slice] = planEndpointSlices(service(byName, { publishNotReadyAddresses: true }), [pod('1', false)])
    expect(slice?.endpoints[0]?.conditions?.ready).toBe(true)
  })
})
