import { describe, expect, it } from 'vitest'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  const slice = (name: string, addresses: readonly string[], addressType = 'IPv4') => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { 'kubernetes.io/service-name': 'web' } },
    addressType,
    endpoints: [{ addresses: ['10.9.8.7'] }, { addresses }].slice(addressType === 'IPv4' ? 0 : 1),
    ports: [{ port: 80 }],
  })
  const slices = () => server.path('endpointslices', 'discovery.k8s.io/v1')

  describe('an EndpointSlice that somebody makes', () => {
    it.each([
      ['0.0.0.0', 'may not be unspecified (0.0.0.0)'],
      ['127.0.0.1', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
      ['127.64.0.1', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
      ['169.254.169.254', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
      ['224.0.0.5', 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
    ])('may not lead to %s', async (address, why) => {
      const answer = await server.http('POST', slices(), slice('a', [address]))
      expect([answer.code, answer.body.message]).toEqual([
        422,
        `EndpointSlice.discovery.k8s.io "a" is invalid: endpoints[1].addresses[0]: Invalid value: "${address}": ${why}`,
      ])
      expect(answer.body).toMatchObject({
        reason: 'Invalid',
        details: { causes: [{ reason: 'FieldValueInvalid', field: 'endpoints[1].addresses[0]' }] },
      })
    })

    it.each([
      ['::', 'may not be unspecified (::)'],
      ['::1', 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
      ['fe80::1', 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
      ['ff02::1', 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
    ])('may not lead to %s', async (address, why) => {
      const answer = await server.http('POST', slices(), slice('a', [address], 'IPv6'))
      expect([answer.code, answer.body.message]).toEqual([
        422,
        `EndpointSlice.discovery.k8s.io "a" is invalid: endpoints[0].addresses[0]: Invalid value: "${address}": ${why}`,
      ])
    })

    it('cannot be changed to lead there, either', async () => {
      await server.ok('POST', slices(), slice('a', ['10.9.8.6']))
      const endpoints = [{ addresses: ['127.0.0.1'] }]
      const answer = await server.patch(`${slices()}/a`, 'merge', { endpoints })
      expect([answer.code, answer.body.message]).toEqual([
        422,
        'EndpointSlice.discovery.k8s.io "a" is invalid: endpoints[0].addresses[0]: Invalid value: "127.0.0.1": ' +
          'may not be in the loopback range (127.0.0.0/8, ::1/128)',
      ])
    })
  })
})
