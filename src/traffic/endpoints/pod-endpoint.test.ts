import { describe, expect, it } from 'vitest'
import { fakePod } from '../cluster-view.fixture.ts'
import { endpointOf } from './pod-endpoint.ts'

describe('endpointOf', () => {
  it('reads model, address and identity of a ready Pod', () => {
    expect(endpointOf(fakePod('tiny-1', { uid: 'u', host: '127.64.0.9', port: 8001 }))).toEqual({
      model: 'tiny',
      name: 'tiny-1',
      identity: 'u 127.64.0.9:8001',
      address: { host: '127.64.0.9', port: 8001 },
      standing: 'ready',
      healthPath: '/health',
      key: undefined,
      capacity: Infinity,
    })
  })

  it.each([
    ['not ready', fakePod('p', { ready: false }), 'starting'],
    ['terminating', fakePod('p', { terminating: true }), 'leaving'],
    ['draining', fakePod('p', { draining: true }), 'leaving'],
    ['draining before it was ready', fakePod('p', { draining: true, ready: false }), 'leaving'],
  ])('sees how a Pod stands that is %s', (_case, pod, standing) => {
    expect(endpointOf(pod)?.standing).toBe(standing)
  })

  it('asks for health where the readiness probe does, and takes the capacity from the Pod, unless it is nonsense', () => {
    const pod = fakePod('p')
    const [server] = pod.spec.containers
    if (server) server.readinessProbe = { httpGet: { path: '/ready', port: 'http' } }
    pod.metadata.annotations = { 'sluice.dev/request-capacity': '72' }
    expect(endpointOf(pod)).toMatchObject({ healthPath: '/ready', capacity: 72 })
    pod.metadata.annotations = { 'sluice.dev/request-capacity': '-1' }
    expect(endpointOf(pod)?.capacity).toBe(Infinity)
  })

  it('knows no endpoint without an address, a model label or a port named http', () => {
    const withoutAddress = fakePod('p')
    delete withoutAddress.status?.podIP
    const withoutLabel = fakePod('p')
    delete withoutLabel.metadata.labels
    const withoutPort = fakePod('p')
    withoutPort.spec.containers = [{ name: 'server' }]
    expect([withoutAddress, withoutLabel, withoutPort].map((pod) => endpointOf(pod))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })
})
