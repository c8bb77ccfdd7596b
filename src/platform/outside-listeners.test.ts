import { describe, expect, it } from 'vitest'
import { OutsideListeners, socketsToOpen } from './outside-listeners.ts'

const ports = { management: 1, controlPlane: 2, gateway: 3, exposure: 4 }
const host = '127.0.0.1'
const network = { keeper: 1, listeners: { gateway: [7, 8, 9], management: [5] }, refused: {}, folder: '/nowhere' }
const options = { host, ports, userNetwork: network }

describe('sockets of another network', () => {
  it('are asked for by the place of each face, several for those with threads', () => {
    expect(socketsToOpen({ host, ports })).toEqual([
      { name: 'management', host, port: 1, count: 1 },
      { name: 'controlPlane', host, port: 2, count: 1 },
      { name: 'gateway', host, port: 3, count: 64 },
      { name: 'exposure', host, port: 4, count: 64 },
    ])
  })

  it('are each given once', () => {
    const listeners = new OutsideListeners(options)
    expect(listeners.takeAll('gateway')).toEqual([7, 8, 9])
    expect(listeners.takeAll('gateway')).toBeUndefined()
    expect(listeners.take('management')).toBe(5)
    expect(listeners.take('exposure')).toBeUndefined()
  })

  it('are none in the network of the machine', () => {
    const reason = 'pasta is missing'
    for (const userNetwork of [undefined, { reason }]) {
      expect(new OutsideListeners({ host, ports, userNetwork }).takeAll('gateway')).toBeUndefined()
    }
  })

  it('that could not be opened are said with the flag to change', () => {
    const taken = { ...network, refused: { gateway: 'EADDRINUSE' } }
    expect(() => new OutsideListeners({ host, ports, userNetwork: taken })).toThrow('--gateway-port')
    const nowhere = { ...network, refused: { exposure: 'EADDRNOTAVAIL' } }
    expect(() => new OutsideListeners({ host, ports, userNetwork: nowhere })).toThrow('--host')
  })
})
