import { createServer } from 'node:net'
import { once } from 'node:events'
import { expect, describe, it } from 'vitest'
import { holdFreeAddress } from './free-address.ts'
import { PodAddresses, addressSeed } from './pod-addresses.ts'

describe('PodAddresses', () => {
  it('gives each Pod another address and skips those that look like a network', () => {
    const addresses = new PodAddresses(254)
    const given = ['a', 'b', 'c'].map((pod) => {
      const address = addresses.propose()
      addresses.hold(pod, address)
      return address
    })
    expect(given).toEqual(['127.64.0.254', '127.64.1.1', '127.64.1.2'])
  })

  it('goes round at the end and stays within 127.64.0.0/10', () => {
    const addresses = new PodAddresses(2 ** 22 - 2)
    expect([addresses.propose(), addresses.propose()]).toEqual(['127.127.255.254', '127.64.0.1'])
  })

  it('remembers adopted addresses and gives back what is released', () => {
    const addresses = new PodAddresses(1)
    expect(addresses.hold('adopted', '127.64.0.1')).toBe(true)
    expect(addresses.hold('other', '127.64.0.1')).toBe(false)
    expect(addresses.propose()).toBe('127.64.0.2')
    addresses.release('adopted')
    expect(addresses.hold('other', '127.64.0.1')).toBe(true)
    expect(addresses.of('other')).toBe('127.64.0.1')
    expect(addresses.of('adopted')).toBeUndefined()
  })

  it('takes a seed out of any text', () => {
    expect(addressSeed('node-a')).not.toBe(addressSeed('node-b'))
    expect(addressSeed('x'.repeat(500))).toBeLessThan(2 ** 22)
  })
})

describe('holdFreeAddress', () => {
  it('passes over an address on which a port of the Pod is taken', async () => {
    const taken = createServer().listen(0, '127.64.9.1')
    await once(taken, 'listening')
    const bound = taken.address()
    const port = typeof bound === 'object' && bound ? bound.port : 0
    const addresses = new PodAddresses((9 << 8) | 1)
    expect(await holdFreeAddress(addresses, 'pod', [port])).toEqual({ address: '127.64.9.2' })
    expect(await holdFreeAddress(addresses, 'pod', [port])).toEqual({ address: '127.64.9.2' })
    taken.close()
  })

  it('says so when something listens on all addresses', async () => {
    const everywhere = createServer().listen(0, '0.0.0.0')
    await once(everywhere, 'listening')
    const bound = everywhere.address()
    const port = typeof bound === 'object' && bound ? bound.port : 0
    const addresses = new PodAddresses(77_000)
    expect(await holdFreeAddress(addresses, 'pod', [port])).toMatchObject({
      refused: expect.stringContaining('EADDRINUSE') as string,
    })
    expect(addresses.of('pod')).toBeUndefined()
    everywhere.close()
  })
})
