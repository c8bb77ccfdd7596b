import { describe, expect, it } from 'vitest'
import { HeldObjects } from '../resources/object-cache.ts'
import type { Pod } from '../resources/pod.ts'
import { EndpointReach } from './endpoint-reach.ts'

function pod(name: string, namespace: string, ...addresses: string[]): Pod {
  const podIPs = addresses.map((ip) => ({ ip }))
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: { containers: [{ name: 'main' }], restartPolicy: 'Always', terminationGracePeriodSeconds: 30 },
    status: addresses.length === 0 ? {} : { podIP: addresses[0], podIPs },
  }
}

function setUp() {
  const pods = new HeldObjects<Pod>()
  pods.put(pod('a', 'web', '127.64.0.7', 'fd00::7'))
  pods.put(pod('b', 'money', '10.65.0.8'))
  const closed = ['192.0.2.2', '10.65.0.0/19', 'fd0d:7e74:1b65::/48']
  const reach = new EndpointReach({
    pods,
    closed: () => closed,
    isOwn: (namespace, { host, port }) => namespace === 'sluice' && host === '127.0.0.1' && port === 8000,
  })
  const may = (namespace: string, host: string, port = 80) => reach.mayReach(namespace, { host, port })
  return { pods, closed, reach, may }
}

describe('where the edge may connect to for a Service', () => {
  it('is every Pod of the namespace, whatever its address, and no Pod of another', () => {
    const { may } = setUp()
    expect(may('web', '127.64.0.7')).toBe(true)
    expect(may('web', 'fd00::7')).toBe(true)
    expect(may('money', '10.65.0.8')).toBe(true)
    expect(may('web', '10.65.0.8')).toBe(false)
    expect(may('money', '127.64.0.7')).toBe(false)
  })

  it('is what the platform has put behind its own Service', () => {
    const { may } = setUp()
    expect(may('sluice', '127.0.0.1', 8000)).toBe(true)
    expect(may('sluice', '127.0.0.1', 6443)).toBe(false)
    expect(may('web', '127.0.0.1', 8000)).toBe(false)
  })

  it.each([
    ['what listens only on this machine', '127.0.0.1'],
    ['this machine in another spelling', '::ffff:127.0.0.1'],
    ['this machine by IPv6', '::1'],
    ['an address of this machine', '192.0.2.2'],
    ['an address of this machine as one of IPv6', '::ffff:192.0.2.2'],
    ['the data of a cloud', '169.254.169.254'],
    ['a neighbour on the link', 'fe80::1'],
    ['a Pod of another cluster', '10.65.9.9'],
    ['a Service of another cluster', '10.65.20.1'],
    ['another cluster by IPv6', 'fd0d:7e74:1b65:2::a'],
    ['everybody', '224.0.0.1'],
    ['nobody', '0.0.0.0'],
    ['a name', 'control-plane.example'],
  ])('is not %s', (_what, address) => {
    expect(setUp().may('web', address)).toBe(false)
  })

  it('may be outside of this machine and its clusters', () => {
    const { may } = setUp()
    expect([may('web', '203.0.113.9'), may('web', '2001:db8::9'), may('web', '10.66.0.1')]).toEqual([true, true, true])
  })

  it('is looked up again when the machine or a cluster has got an address, if it ever mattered', () => {
    const { closed, reach, may } = setUp()
    expect(may('web', '127.64.0.7')).toBe(true)
    closed.push('203.0.113.8')
    expect(reach.hasNewLimits()).toBe(false)
    expect(may('web', '203.0.113.9')).toBe(true)
    expect(reach.hasNewLimits()).toBe(false)
    closed.push('203.0.113.9')
    expect([reach.hasNewLimits(), may('web', '203.0.113.9'), reach.hasNewLimits()]).toEqual([true, false, false])
  })

  it('follows the addresses of Pods, and tells which ones', () => {
    const { pods, reach, may } = setUp()
    let changes = 0
    reach.onChange((addresses) => {
      changes += 1
      expect(addresses).toEqual(['10.65.0.9'])
    })
    pods.put(pod('c', 'web'))
    expect([changes, may('web', '10.65.0.9')]).toEqual([0, false])
    pods.put(pod('c', 'web', '10.65.0.9'))
    pods.put(pod('d', 'web', '10.65.0.9'))
    expect([changes, may('web', '10.65.0.9')]).toEqual([2, true])
    pods.remove({ namespace: 'web', name: 'c' })
    expect(may('web', '10.65.0.9')).toBe(true)
    pods.remove({ namespace: 'web', name: 'd' })
    expect([changes, may('web', '10.65.0.9')]).toEqual([4, false])
    reach.close()
    pods.put(pod('e', 'web', '10.65.0.10'))
    expect(changes).toBe(4)
  })
})
