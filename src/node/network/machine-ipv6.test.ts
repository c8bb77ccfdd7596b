import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FilterTool } from './filter-tool.ts'
import { hasIpv6 } from './network-stage.fixture.ts'
import { ipv6Missing, leadOnIpv6 } from './machine-ipv6.ts'

describe('leadOnIpv6', () => {
  let folder: string
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'sluice-ipv6-'))))
  afterEach(() => rmSync(folder, { recursive: true, force: true }))
  const device = (name: string, forwarding: string, routers: string) => {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'forwarding'), `${forwarding}\n`)
    writeFileSync(join(folder, name, 'accept_ra'), `${routers}\n`)
  }
  const of = (name: string) =>
    ['forwarding', 'accept_ra'].map((setting) => readFileSync(join(folder, name, setting), 'utf8').trim())

  it('lets devices that take their routes from a router go on with it, and no others begin', () => {
    device('all', '0', '1')
    device('default', '0', '1')
    device('eth0', '0', '1')
    device('static0', '0', '0')
    device('routing0', '1', '1')
    device('s01234567-5', '0', '1')
    leadOnIpv6(folder)
    expect(of('all')).toEqual(['1', '1'])
    expect(of('eth0')).toEqual(['0', '2'])
    expect(of('default')).toEqual(['0', '2'])
    expect([of('static0'), of('routing0'), of('s01234567-5')]).toEqual([
      ['0', '0'],
      ['1', '1'],
      ['0', '1'],
    ])
  })

  it('changes nothing on a machine that leads on already', () => {
    device('all', '1', '1')
    device('eth0', '0', '1')
    leadOnIpv6(folder)
    expect(of('eth0')).toEqual(['0', '1'])
  })
})

describe.runIf(hasIpv6)('ipv6Missing', () => {
  const filter = (complaint?: string): FilterTool => ({
    apply: async () => {},
    hasChain: async () => false,
    read: async () => '',
    check: async () => {
      if (complaint !== undefined) throw new Error(complaint)
    },
  })

  it('names what is missing', async () => {
    expect(await ipv6Missing({ filter: filter(), known: true })).toBeUndefined()
    expect(await ipv6Missing({ filter: undefined, known: true })).toBe('the program nft is missing')
    expect(await ipv6Missing({ filter: filter('not asked'), known: true, isProven: true })).toBeUndefined()
    const without = await ipv6Missing({ filter: filter('Operation not supported'), known: true })
    expect(without).toBe('the packet filter takes no rules for it: Operation not supported')
  })
})
