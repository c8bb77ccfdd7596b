import type { NetworkInterfaceInfo } from 'node:os'
import { expect, it } from 'vitest'
import { closedAddresses } from './cluster-blocks.ts'

function at(address: string, bits: number): NetworkInterfaceInfo {
  const common = { address, netmask: '', mac: '', internal: false, cidr: `${address}/${bits}` }
  return address.includes(':') ? { ...common, family: 'IPv6', scopeid: 0 } : { ...common, family: 'IPv4' }
}

it('are the machine’s own addresses, and all of the block of each cluster on it', () => {
  const closed = closedAddresses({
    eth0: [at('192.0.2.2', 24), at('2001:db8::2', 64)],
    'sluice-aa673258': [at('10.65.32.1', 20), at('fd0d:7e74:1b65:1::1', 112)],
    gone: undefined,
  })
  expect(closed).toEqual(['192.0.2.2', '2001:db8::2', '10.65.32.0/19', 'fd0d:7e74:1b65::/48'])
})
