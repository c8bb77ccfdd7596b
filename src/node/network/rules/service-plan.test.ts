import { describe, expect, it } from 'vitest'
import { endpointSliceSchema, serviceNameLabel } from '../../../resources/endpoint-slice.ts'
import { serviceSchema } from '../../../resources/service.ts'
import { parseRange } from '../../../resources/address-range.ts'
import { planServices } from './service-plan.ts'

const rangeOf = (text: string) => {
  const range = parseRange(text)
  if (!range) throw new Error(`not a range: ${text}`)
  return range
}
const range = rangeOf('10.64.16.0/20')
const service = (extra: object = {}) =>
  serviceSchema.parse({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'team' },
    spec: { clusterIP: '10.64.16.9', ports: [{ port: 80, targetPort: 8080 }], ...extra },
  })
const slice = (endpoints: readonly object[], port = 8080) =>
  endpointSliceSchema.parse({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-1', namespace: 'team', labels: { [serviceNameLabel]: 'web' } },
    addressType: 'IPv4',
    endpoints,
    ports: [{ port }],
  })
const at = (address: string, conditions: object = {}) => ({ addresses: [address], conditions })
const plan = (one: ReturnType<typeof service>, endpoints: readonly object[], servedHere: readonly string[] = []) =>
  planServices({
    services: [one],
    slices: [slice(endpoints)],
    range,
    isMachine: (address) => address.startsWith('127.') || address === '192.168.1.2',
    servedHere: new Set(servedHere),
  })
const place = { address: '10.64.16.9', protocol: 'tcp', port: 80 }

describe('planServices', () => {
  it('leads to what is ready, each once and always in the same order', () => {
    const endpoints = [
      at('10.64.0.5'),
      at('10.64.0.3', { ready: true }),
      at('10.64.0.4', { ready: false }),
      at('10.64.0.5'),
    ]
    expect(plan(service(), endpoints)).toEqual({
      routes: [
        {
          ...place,
          endpoints: [
            { address: '10.64.0.3', port: 8080 },
            { address: '10.64.0.5', port: 8080 },
          ],
        },
      ],
      local: [],
    })
  })

  it('leads to what is about to end only where nothing else is there', () => {
    const ending = at('10.64.0.5', { ready: false, serving: true, terminating: true })
    expect(plan(service(), [ending]).routes).toMatchObject([{ endpoints: [{ address: '10.64.0.5' }] }])
    expect(plan(service(), [ending, at('10.64.0.6')]).routes).toMatchObject([{ endpoints: [{ address: '10.64.0.6' }] }])
    expect(plan(service(), [at('10.64.0.5', { ready: false, serving: false, terminating: true })]).routes).toEqual([])
  })

  it('leaves to programs of the machine what is on the machine, unless a Pod is there too', () => {
    expect(plan(service(), [at('127.64.0.2'), at('192.168.1.2')])).toEqual({ routes: [], local: [place] })
    expect(plan(service(), [at('127.64.0.2'), at('10.64.0.6')])).toMatchObject({
      routes: [{ endpoints: [{ address: '10.64.0.6' }] }],
      local: [],
    })
    expect(plan(service(), [at('10.64.0.6')], ['team/web'])).toEqual({ routes: [], local: [place] })
  })

  it.each(['169.254.169.254', '224.0.0.1', '0.0.0.0', '255.255.255.255'])('never leads to %s', (address) => {
    expect(plan(service(), [at(address)])).toEqual({ routes: [], local: [] })
  })

  it('has nothing of Services without an address of this cluster', () => {
    for (const clusterIP of ['None', '', '127.128.0.4', '8.8.8.8']) {
      expect(plan(service({ clusterIP }), [at('10.64.0.5')])).toEqual({ routes: [], local: [] })
    }
    expect(plan(service({ type: 'ExternalName', externalName: 'a.b' }), [at('10.64.0.5')]).routes).toEqual([])
  })

  it('keeps clients where they were for as long as the Service says', () => {
    const affinity = { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } } }
    expect(plan(service(affinity), [at('10.64.0.5')]).routes).toMatchObject([{ affinitySeconds: 60 }])
    expect(plan(service({ sessionAffinity: 'ClientIP' }), [at('10.64.0.5')]).routes).toMatchObject([
      { affinitySeconds: 10_800 },
    ])
  })

  it('leads at an address of IPv6 to endpoints of IPv6 alone', () => {
    const both = service({ clusterIPs: ['10.64.16.9', 'FD00:0:0:2::9'] })
    const six = {
      ...slice([at('fd00:0:0:1::5'), at('::1'), at('fe80::7'), at('ff02::1'), at('::'), at('::ffff:127.0.0.1')]),
      addressType: 'IPv6' as const,
    }
    const sources = { services: [both], slices: [slice([at('10.64.0.5')]), six], isMachine: () => false }
    const planned = (text: string) => planServices({ ...sources, range: rangeOf(text), servedHere: new Set() }).routes
    const endpoints = (address: string) => [{ address, port: 8080 }]
    expect(planned('10.64.16.0/20')).toEqual([{ ...place, endpoints: endpoints('10.64.0.5') }])
    expect(planned('fd00:0:0:2::/112')).toEqual([
      { ...place, address: 'fd00:0:0:2::9', endpoints: endpoints('fd00:0:0:1::5') },
    ])
  })
})
