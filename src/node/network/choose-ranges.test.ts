import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type AddressRange,
  addressAt,
  formatRange,
  overlap,
  parseRange,
  placeIn,
} from '../../resources/address-range.ts'
import { chooseIpv6Ranges, chooseRanges } from './choose-ranges.ts'

const range = (text: string): AddressRange => {
  const parsed = parseRange(text)
  if (!parsed) throw new Error(`not a range: ${text}`)
  return parsed
}

describe('address ranges', () => {
  it.each([
    ['10.1.2.3/24', '10.1.2.0/24'],
    ['10.1.2.3', '10.1.2.3/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['255.255.255.255/1', '128.0.0.0/1'],
    ['FD00:0:0:1:0:0:0:7/64', 'fd00:0:0:1::/64'],
    ['::', '::/128'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3/128'],
    ['1:2:3:4:5:6:0:8', '1:2:3:4:5:6:0:8/128'],
    ['::ffff:10.1.2.3/120', '::ffff:a01:200/120'],
  ])('reads %s as %s', (text, expected) => {
    expect(formatRange(range(text))).toBe(expected)
  })

  it.each([
    '10.1.2',
    '10.1.2.256',
    '10.1.2.3/33',
    'fd00::/129',
    'fd00::1::',
    'fe80::1%eth0',
    '10.1.2.3/',
    '',
    'default',
  ])('does not read "%s"', (text) => {
    expect(parseRange(text)).toBeUndefined()
  })

  it('knows which overlap', () => {
    expect(overlap(range('10.0.0.0/8'), range('10.64.0.0/19'))).toBe(true)
    expect(overlap(range('10.64.0.0/19'), range('10.64.32.0/19'))).toBe(false)
    expect(overlap(range('0.0.0.0/0'), range('192.168.1.1'))).toBe(true)
    expect(overlap(range('fd00::/8'), range('fd12::/16'))).toBe(true)
    expect(overlap(range('::/0'), range('10.0.0.0/8'))).toBe(false)
  })

  it('counts addresses from the first one', () => {
    expect(placeIn(range('10.64.0.0/20'), '10.64.1.2')).toBe(258)
    expect(placeIn(range('10.64.0.0/20'), '10.64.16.0')).toBeUndefined()
    expect(placeIn(range('10.64.0.0/20'), '127.64.0.1')).toBeUndefined()
    expect(placeIn(range('fd00:0:0:1::/112'), 'fd00:0:0:1::102')).toBe(258)
    expect(addressAt(range('fd00:0:0:1::/112'), 258)).toBe('fd00:0:0:1::102')
  })
})

describe('chooseRanges', () => {
  it('has Pods and Services beside each other', () => {
    const chosen = chooseRanges(0, [])
    expect(chosen && [formatRange(chosen.pods), formatRange(chosen.services)]).toEqual([
      '10.64.0.0/20',
      '10.64.16.0/20',
    ])
  })

  it('goes where a company has not routed everything', () => {
    const chosen = chooseRanges(3, [range('10.0.0.0/8'), range('192.168.0.0/16')])
    expect(chosen && formatRange(chosen.pods)).toBe('172.16.96.0/20')
    const last = chooseRanges(0, [range('10.0.0.0/8'), range('172.16.0.0/12')])
    expect(last && formatRange(last.pods)).toBe('198.18.0.0/20')
    expect(chooseRanges(0, [range('0.0.0.0/0')])).toBeUndefined()
  })

  it('never takes what somebody has', () => {
    const route = fc
      .record({ first: fc.nat(2 ** 22 - 1), bits: fc.integer({ min: 8, max: 32 }) })
      .map(({ first, bits }) => range(`10.${64 + (first >>> 16)}.${(first >>> 8) & 255}.${first & 255}/${bits}`))
    fc.assert(
      fc.property(fc.array(route, { maxLength: 20 }), fc.nat(), (routes, seed) => {
        const chosen = chooseRanges(seed, routes)
        if (!chosen) return
        expect(overlap(chosen.pods, chosen.services)).toBe(false)
        for (const one of routes) {
          expect(overlap(one, chosen.pods)).toBe(false)
          expect(overlap(one, chosen.services)).toBe(false)
        }
      }),
    )
  })
})

describe('chooseIpv6Ranges', () => {
  it('draws a site of its own for each node, the same one each time', () => {
    const chosen = chooseIpv6Ranges('a', [])
    expect(chosen).toEqual(chooseIpv6Ranges('a', []))
    expect(chosen && formatRange(chosen.pods)).toMatch(/^fd[0-9a-f]{2}(:[0-9a-f]{1,4}){2}:1::\/112$/)
    expect(chosen && formatRange(chosen.services)).toMatch(/^fd[0-9a-f]{2}(:[0-9a-f]{1,4}){2}:2::\/112$/)
    expect(chosen?.pods.first).not.toBe(chooseIpv6Ranges('b', [])?.pods.first)
  })

  it('draws again where somebody has it', () => {
    const first = chooseIpv6Ranges('a', [])
    const next = first && chooseIpv6Ranges('a', [first.services])
    expect(next && overlap(next.pods, first.pods)).toBe(false)
    expect(chooseIpv6Ranges('a', [range('fc00::/7')])).toBeUndefined()
  })
})
