import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { formatRange } from '../../../resources/address-range.ts'
import {
  addressesOutside,
  outsideRoutesFile,
  readUserNetwork,
  routesOutside,
  userNetworkVariable,
} from './user-network.ts'

const told = (text: string) => readUserNetwork({ [userNetworkVariable]: text }, '/nowhere')

it('is known by the environment of who was started in it', () => {
  const facts = { keeper: 12, listeners: { gateway: [3, 4] }, refused: { management: 'EADDRINUSE' } }
  expect(told(JSON.stringify(facts))).toEqual({ ...facts, folder: '/nowhere' })
  expect(told('{"reason":"namespaces: Operation not permitted"}')).toEqual({
    reason: 'namespaces: Operation not permitted',
  })
  expect(readUserNetwork({}, '/nowhere')).toBeUndefined()
})

it('is none where the environment makes no sense, and says so', () => {
  for (const text of ['', '{', '[]', '{"keeper":"12"}', '{"keeper":-1,"listeners":{},"refused":{}}']) {
    expect(told(text)).toEqual({ reason: expect.stringContaining(userNetworkVariable) })
  }
})

it('knows where the machine leads to', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-user-network-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const network = { keeper: 1, listeners: {}, refused: {}, folder }
  expect(routesOutside(network)).toEqual([])
  const routes = [
    { dst: 'default', gateway: '192.0.2.1' },
    { dst: '10.8.0.0/16', dev: 'vpn' },
    { dst: '192.0.2.7' },
    {},
  ]
  writeFileSync(join(folder, outsideRoutesFile), JSON.stringify(routes))
  expect(routesOutside(network).map(formatRange)).toEqual(['10.8.0.0/16', '192.0.2.7/32'])
})

it('knows the addresses of the machine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-user-network-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const network = { keeper: 1, listeners: {}, refused: {}, folder }
  expect(addressesOutside(network)).toEqual({})
  const routes = [
    { type: 'local', dst: '127.0.0.0/8', dev: 'lo', table: 'local' },
    { type: 'local', dst: '127.0.0.1', dev: 'lo', table: 'local' },
    { type: 'local', dst: '192.0.2.7', dev: 'eth0', table: 'local' },
    { type: 'broadcast', dst: '192.0.2.255', dev: 'eth0', table: 'local' },
    { dst: '198.51.100.1', dev: 'eth0' },
  ]
  writeFileSync(join(folder, outsideRoutesFile), JSON.stringify(routes))
  expect(addressesOutside(network)).toEqual({
    lo: [{ address: '127.0.0.1', internal: true }],
    eth0: [{ address: '192.0.2.7', internal: false }],
  })
})
