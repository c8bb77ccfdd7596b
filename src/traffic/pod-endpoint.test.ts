import { describe, expect, it } from 'vitest'
import { fakePod } from './cluster-view.fixture.ts'
import { endpointOf } from './pod-endpoint.ts'

describe('endpointOf', () => {
  it('reads model, address and identity of a ready Pod', () => {
    expect(endpointOf(fakePod('tiny-1', { uid: 'u', host: '127.64.0.9', port: 8001 }))).toEqual({
      model: 'tiny',
      name: 'tiny-1',
      identity: 'u 127.64.0.9:8001',
      address: { host: '127.64.0.9', port: 8001 },
      accepting: true,
    })
  })

  it.each([
    ['not ready', fakePod('p', { ready: false })],
    ['terminating', fakePod('p', { terminating: true })],
    ['draining', fakePod('p', { draining: true })],
  ])('gives nothing new to a Pod that is %s', (_case, pod) => {
    expect(endpointOf(pod)?.accepting).toBe(false)
  })

  it('knows no endpoint without an address, a model label or a port named http', () => {
    const withoutAddress = fakePod('p')
    delete withoutAddress.status?.podIP
    const withoutLabel = fakePod('p')
    delete withoutLabel.metadata.labels
    const withoutPort = fakePod('p')
    withoutPort.spec.containers = [{ name: 'server' }]
    expect([withoutAddress, withoutLabel, withoutPort].map(endpointOf)).toEqual([undefined, undefined, undefined])
  })
})
