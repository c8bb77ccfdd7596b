import { describe, expect, it } from 'vitest'
import { configMapKind } from '../../resources/config-map.ts'
import { endpointSliceKind } from '../../resources/endpoint-slice.ts'
import { endpointsKind } from '../../resources/endpoints.ts'
import type { KubernetesObject } from '../../resources/kubernetes-object.ts'
import type { AdmissionRequest } from './admission.ts'
import { endpointAddresses } from './endpoint-address-rule.ts'

const rule = endpointAddresses(() => new Set(['192.0.2.1', '2001:db8::1']))
const somebody = { name: 'alice', groups: ['system:masters'] }

const sliceOf = (...addresses: string[]): KubernetesObject => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'a', namespace: 'default' },
  endpoints: [{ addresses }],
})

function judge(object: KubernetesObject, more: Partial<AdmissionRequest> = {}) {
  return rule({ operation: 'create', kind: endpointSliceKind, object, user: somebody, ...more })
}

describe('the addresses that endpoints may have', () => {
  it.each([
    '192.0.2.1',
    '2001:db8::1',
    '239.1.1.1',
    'ff05::1',
    '0.1.2.3',
    '255.255.255.255',
    '::ffff:127.0.0.1',
    '2001:DB8:0::1',
    '::ffff:192.0.2.1',
  ])('are not %s, which is this machine’s or nobody’s', (address) => {
    expect(judge(sliceOf('10.0.0.1', address))).toMatchObject([{ field: 'endpoints[0].addresses[1]' }])
  })

  it('are all others, and names', () => {
    expect(judge(sliceOf('10.0.0.1', '192.0.2.2', '2001:db8::2', 'example.com'))).toEqual([])
  })

  it('are what they are for the cluster’s own controllers, and for what a slice has already', () => {
    expect(judge(sliceOf('127.64.0.1'), { user: undefined })).toEqual([])
    const previous = sliceOf('127.64.0.1')
    expect(judge(sliceOf('127.64.0.1'), { operation: 'update', previous })).toEqual([])
    expect(judge(sliceOf('127.64.0.1', '127.64.0.2'), { operation: 'update', previous })).toHaveLength(1)
    expect(judge(sliceOf('127.0.0.1'), { operation: 'delete' })).toEqual([])
    expect(judge(sliceOf('127.0.0.1'), { kind: configMapKind })).toEqual([])
  })

  it('are no others in Endpoints, of which slices are made', () => {
    const object = {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'a', namespace: 'default' },
      subsets: [{ addresses: [{ ip: '10.0.0.1' }], notReadyAddresses: [{ ip: '10.0.0.2' }, { ip: '127.0.0.1' }] }],
    }
    expect(judge(object, { kind: endpointsKind })).toMatchObject([{ field: 'subsets[0].notReadyAddresses[1].ip' }])
    expect(judge(object, { kind: endpointsKind, user: undefined })).toEqual([])
  })
})
