import { describe, expect, it } from 'vitest'
import { parseRange } from '../../../resources/address-range.ts'
import { type DatagramFlow, datagramKey, readFlows, staleFlows } from './datagram-flows.ts'

const rangeOf = (text: string) => {
  const range = parseRange(text)
  if (!range) throw new Error(`not a range: ${text}`)
  return range
}
const ranges = [
  { pods: rangeOf('10.64.0.0/20'), services: rangeOf('10.64.16.0/20') },
  { pods: rangeOf('fd00:0:0:1::/112'), services: rangeOf('fd00:0:0:2::/112') },
]
const route = {
  address: '10.64.16.7',
  protocol: 'udp' as const,
  port: 53,
  endpoints: [{ address: '10.64.0.2', port: 5353 }],
}
const hostPort = { hostIP: '', hostPort: 8053, protocol: 'udp' as const, address: '10.64.0.2', port: 5353 }
const flow = (destination: string, destinationPort: number, endpoint: string, endpointPort = 5353): DatagramFlow => ({
  source: '10.64.0.9',
  sourcePort: 4000,
  destination,
  destinationPort,
  endpoint,
  endpointPort,
})

describe('flows of datagrams', () => {
  it('are read as conntrack lists them, whether answered or not', () => {
    const listed = [
      'udp      17 29 src=10.64.0.9 dst=10.64.16.7 sport=4000 dport=53 src=10.64.0.2 dst=10.64.0.9 sport=5353 dport=4000 mark=0 use=1',
      'udp      17 2 src=10.64.0.9 dst=10.64.16.7 sport=4001 dport=53 [UNREPLIED] src=10.64.0.2 dst=10.64.0.9 sport=5353 dport=4001 mark=0 use=1',
      'conntrack v1.4.7 (conntrack-tools): 2 flow entries have been shown.',
      '',
    ]
    const first = flow('10.64.16.7', 53, '10.64.0.2')
    expect(readFlows(listed.join('\n'))).toEqual([first, { ...first, sourcePort: 4001 }])
  })

  it('are stale when nobody would be led there any more', () => {
    const six = { ...route, address: 'fd00:0:0:2::7', endpoints: [{ address: 'fd00:0:0:1::2', port: 5353 }] }
    const plan = { routes: [route, six], hostPorts: [hostPort], ranges }
    const kept = [
      flow('fd00:0:0:2::7', 53, 'fd00:0:0:1::2'),
      flow('10.64.16.7', 53, '10.64.0.2'),
      flow('192.0.2.1', 8053, '10.64.0.2'),
    ]
    const stale = [
      flow('10.64.16.7', 53, '10.64.0.3'),
      flow('10.64.16.7', 54, '10.64.0.2'),
      flow('10.64.16.7', 53, '10.64.0.2', 5354),
      flow('10.64.16.8', 53, '203.0.113.9'),
      flow('192.0.2.1', 8054, '10.64.0.2'),
      flow('192.0.2.1', 8053, '10.64.0.3'),
      flow('fd00:0:0:2::7', 53, 'fd00:0:0:1::3'),
    ]
    // Of another program, such as a container runtime.
    const foreign = [flow('192.0.2.1', 53, '172.17.0.2')]
    expect(staleFlows([...kept, ...stale, ...foreign], plan)).toEqual(stale)
  })

  it('are looked at when something about UDP has changed, not else', () => {
    const tcp = { ...route, protocol: 'tcp' as const }
    const before = datagramKey({ routes: [route], hostPorts: [] })
    expect(datagramKey({ routes: [route, tcp], hostPorts: [] })).toBe(before)
    expect(datagramKey({ routes: [{ ...route, endpoints: [] }], hostPorts: [] })).not.toBe(before)
    expect(datagramKey({ routes: [route], hostPorts: [hostPort] })).not.toBe(before)
  })
})
