import { describe, expect, it } from 'vitest'
import { endpointSliceSchema } from '../../resources/endpoint-slice.ts'
import { serviceSchema } from '../../resources/service.ts'
import { planClusterIp } from './plan-cluster-ip.ts'

const service = serviceSchema.parse({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'default' },
  spec: { clusterIP: '10.0.0.7', ports: [{ port: 80, targetPort: 8080 }] },
})
const slice = (...addresses: string[]) =>
  endpointSliceSchema.parse({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-1', namespace: 'default' },
    addressType: 'IPv4',
    endpoints: addresses.map((address) => ({ addresses: [address] })),
    ports: [{ port: 8080 }],
  })
const isLocal = () => true
const isLedTo = (endpoint: string) => !endpoint.startsWith('127.')

describe('what is listened on for a Service', () => {
  const places = (...routes: Parameters<typeof planClusterIp>) => planClusterIp(...routes).map(({ port }) => port)

  it('is every port with somebody behind it', () => {
    expect(places(service, [slice('10.1.0.2')], isLocal)).toEqual([80])
    expect(places(service, [slice()], isLocal)).toEqual([])
  })

  it('is nothing where the kernel leads to the endpoints', () => {
    expect(places(service, [slice('10.1.0.2', '10.1.0.3')], isLocal, isLedTo)).toEqual([])
    expect(places(service, [slice('10.1.0.2', '127.0.0.1')], isLocal, isLedTo)).toEqual([])
  })

  it('is what a program of this machine is behind, wherever the kernel leads to others', () => {
    expect(places(service, [slice('127.0.0.1')], isLocal, isLedTo)).toEqual([80])
  })
})
