import { describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { coreKinds } from '../../resources/all-kinds.ts'
import { namespaceKind } from '../../resources/namespace.ts'
import { type Service, serviceKind } from '../../resources/service.ts'
import { MemoryStore } from '../../store/memory-store.ts'
import { ClusterApi } from '../cluster-api.ts'
import { AddressRange } from './address-range.ts'
import { ServiceAddresses } from './service-addresses.ts'

const namespace = 'web'

async function open(ranges: string | readonly string[], store = new MemoryStore()) {
  const plugins = [new ServiceAddresses({ store, ranges: [ranges].flat(), random: () => 0 })]
  const api = new ClusterApi({ store, kinds: coreKinds, clock: systemClock, plugins })
  if (!api.find(namespaceKind, { name: namespace })) {
    await api.create(namespaceKind, undefined, { metadata: { name: namespace } })
  }
  const create = async (name: string, spec: Record<string, unknown> = {}) => {
    const object = { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } }
    const { clusterIP } = (await api.create(serviceKind, namespace, object))['spec'] as Service['spec']
    return clusterIP
  }
  return { api, store, create }
}

describe('addresses of Services', () => {
  it('are known after a restart', async () => {
    const first = await open('127.128.0.0/24')
    const taken = await first.create('a')
    const second = await open('127.128.0.0/24', first.store)
    expect(await second.create('b')).not.toBe(taken)
    await expect(second.create('c', { clusterIP: taken })).rejects.toThrow('provided IP is already allocated')
  })

  it('come with the next write to Services that were made when there were none', async () => {
    const store = new MemoryStore()
    const plain = new ClusterApi({ store, kinds: coreKinds, clock: systemClock })
    await plain.create(namespaceKind, undefined, { metadata: { name: namespace } })
    await plain.create(serviceKind, namespace, { metadata: { name: 'old' }, spec: { ports: [{ port: 80 }] } })
    const { api } = await open('127.128.0.0/24', store)
    const given = await api.patch(serviceKind, { namespace, name: 'old' }, (current) => current)
    expect(given['spec']).toMatchObject({ clusterIP: '127.128.0.16', clusterIPs: ['127.128.0.16'] })
  })

  it('are free again when the Service is gone or was never made', async () => {
    const { api, create } = await open('127.128.0.0/24')
    await create('a', { clusterIP: '127.128.0.9' })
    await api.delete(serviceKind, { namespace, name: 'a' })
    await create('a', { clusterIP: '127.128.0.9' })
    await expect(create('a', { clusterIP: '127.128.0.10' })).rejects.toThrow('already exists')
    expect(await create('b', { clusterIP: '127.128.0.10' })).toBe('127.128.0.10')
  })

  it('run out, and then it says so', async () => {
    const { create } = await open('127.128.0.0/28')
    const given = await Promise.all(Array.from({ length: 14 }, (_, index) => create(`s-${index}`)))
    expect(new Set(given).size).toBe(14)
    await expect(create('one-more')).rejects.toThrow('failed to allocate a serviceIP: range is full')
    expect(await create('headless', { clusterIP: 'None' })).toBe('None')
  })
})

describe('addresses of Services of a cluster that was another before', () => {
  const both = ['127.128.0.0/24', 'fd00:0:0:2::/112']
  const ref = { namespace, name: 'a' }
  const label = (api: ClusterApi, value: string) =>
    api.patch(serviceKind, ref, (current) => ({
      ...current,
      metadata: { ...(current['metadata'] as object), labels: { value } },
    }))

  it('stay as they are when it gets a second family, until somebody asks for it', async () => {
    const { store, create } = await open('127.128.0.0/24')
    const address = await create('a', { ipFamilyPolicy: 'PreferDualStack' })
    const { api } = await open(both, store)
    expect((await label(api, 'x'))['spec']).toMatchObject({ clusterIPs: [address], ipFamilies: ['IPv4'] })
    const asked = await api.patch(serviceKind, ref, (current) => ({
      ...current,
      spec: { ...(current['spec'] as object), ipFamilyPolicy: 'RequireDualStack' },
    }))
    expect(asked['spec']).toMatchObject({ clusterIPs: [address, 'fd00:0:0:2::100'], ipFamilies: ['IPv4', 'IPv6'] })
  })

  it('are not taken by who cannot have all of them', async () => {
    const { create } = await open(both)
    await create('a', { clusterIP: 'fd00:0:0:2::9' })
    const clusterIPs = ['127.128.0.9', 'fd00:0:0:2::9']
    const wanted = { ipFamilyPolicy: 'PreferDualStack', clusterIP: clusterIPs[0], clusterIPs }
    await expect(create('b', wanted)).rejects.toThrow('provided IP is already allocated')
    expect(await create('b', { clusterIP: '127.128.0.9' })).toBe('127.128.0.9')
  })

  it("stay when it loses a family, and are nobody else's", async () => {
    const { store, create } = await open(both)
    const address = await create('a', { ipFamilyPolicy: 'PreferDualStack' })
    const { api } = await open('127.128.0.0/24', store)
    const kept = [address, 'fd00:0:0:2::100']
    expect((await label(api, 'x'))['spec']).toMatchObject({ clusterIPs: kept, ipFamilies: ['IPv4', 'IPv6'] })
    const again = await open(both, store)
    await expect(again.create('b', { clusterIP: 'FD00:0:0:2:0::100' })).rejects.toThrow('already allocated')
  })
})

describe('a range of addresses', () => {
  it('of IPv6 has no broadcast, and not more than can be looked through', () => {
    const range = new AddressRange('fd00:0:0:2::/112')
    expect([range.family, range.pick(() => false, 0)]).toEqual(['IPv6', 'fd00:0:0:2::100'])
    expect(range.contains('fd00:0:0:2::')).toBe(false)
    expect(range.contains('fd00:0:0:2::ffff')).toBe(true)
    expect(range.contains('fd00:0:0:3::1')).toBe(false)
    expect(() => new AddressRange('fd00::/64')).toThrow(RangeError)
  })

  it('leaves its beginning to those who ask for an address, and nobody its ends', () => {
    const range = new AddressRange('127.128.0.0/9')
    expect(range.pick(() => false, 0)).toBe('127.128.1.1')
    expect(range.pick(() => false, 0.999_999)).toMatch(/^127\.255\.255\./)
    expect(range.contains('127.128.0.0')).toBe(false)
    expect(range.contains('127.255.255.255')).toBe(false)
    expect(range.contains('127.128.0.1')).toBe(true)
    expect(range.contains('127.127.255.254')).toBe(false)
    expect(range.contains('None')).toBe(false)
  })

  it.each(['127.128.0.0', '127.128.0.0/40', 'x/9', '127.300.0.0/9'])('is not %s', (text) => {
    expect(() => new AddressRange(text)).toThrow(RangeError)
  })
})
