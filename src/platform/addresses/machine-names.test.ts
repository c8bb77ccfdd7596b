import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../foundation/fake-clock.ts'
import { exposureDomain } from './exposure-domain.ts'
import { type InterfaceAddress, MachineNames } from './machine-names.ts'

const address = (text: string, internal = false): InterfaceAddress => ({ address: text, internal })

function stage(host: string) {
  const interfaces: Record<string, InterfaceAddress[]> = {
    lo: [address('127.0.0.1', true), address('::1', true)],
    eth0: [address('192.0.2.7'), address('2001:db8::7'), address('fe80::7')],
    'sluice-1a2b': [address('10.88.0.1')],
    docker0: [address('172.17.0.1')],
  }
  const clock = new FakeClock()
  const names = new MachineNames({ host, clock, read: () => interfaces, machineName: () => 'box' })
  return { names, interfaces, clock }
}

describe('the names of a machine', () => {
  it.each([
    ['127.0.0.1', [], ['127.0.0.1', 'localhost', 'box']],
    ['localhost', [], ['localhost', '127.0.0.1', 'box']],
    ['192.0.2.7', ['192.0.2.7'], ['192.0.2.7', 'localhost', '127.0.0.1', 'box', 'box.local']],
    ['0.0.0.0', ['192.0.2.7'], ['localhost', '127.0.0.1', 'box', 'box.local', '192.0.2.7']],
    ['::', ['192.0.2.7', '2001:db8::7'], ['localhost', '127.0.0.1', 'box', 'box.local', '192.0.2.7', '2001:db8::7']],
  ])('at %s are those by which others reach it, without those of its own containers', (host, reachable, all) => {
    const { names } = stage(host)
    expect([names.reachable, names.all]).toEqual([reachable, all])
  })

  it('are told when they change, and not while they stay', async () => {
    const { names, interfaces, clock } = stage('0.0.0.0')
    let changes = 0
    names.onChange(() => (changes += 1))
    names.start()
    await clock.advance(30_000)
    expect(changes).toBe(0)
    interfaces['wlan0'] = [address('198.51.100.4')]
    await clock.advance(10_000)
    expect([changes, names.all.at(-1)]).toEqual([1, '198.51.100.4'])
    names.stop()
  })
})

describe('the domain of exposed services', () => {
  it('is one’s own, or follows from the address', () => {
    expect(exposureDomain('Models.Example.com.', [])).toBe('models.example.com')
    expect(exposureDomain('sslip.io', ['2001:db8::7', '192.0.2.7'])).toBe('192-0-2-7.sslip.io')
  })

  it.each([
    ['no domain', 'models', ['192.0.2.7'], /is no domain/],
    ['no domain either', '*.example.com', [], /is no domain/],
    ['an address that only this machine has', 'nip.io', [], /needs an address.*Add --host/],
  ])('is refused for %s', (_, asked, reachable, reason) => {
    expect(() => exposureDomain(asked, reachable)).toThrow(reason)
  })
})
