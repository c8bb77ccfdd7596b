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

async function open(range: string, store = new MemoryStore()) {
  const plugins = [new ServiceAddresses({ store, range, random: () => 0 })]
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

describe('a range of addresses', () => {
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
