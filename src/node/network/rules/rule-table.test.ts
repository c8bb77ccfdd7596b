import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../foundation/clock.ts'
import { findProgram } from '../../isolation/detect-isolation.ts'
import { type AddressFamily, addressAt, parseRange } from '../../../resources/address-range.ts'
import { NftTool } from '../filter-tool.ts'
import type { HostPort } from '../host-ports.ts'
import { mayMakeRules } from '../network-stage.fixture.ts'
import type { Allowance, Isolation } from './policy-plan.ts'
import { type FamilyRules, type NodeRules, ruleTable } from './rule-table.ts'
import { type TableParts, transaction } from './rule-text.ts'
import type { ServiceRoute } from './service-plan.ts'

const run = promisify(execFile)
const rangeOf = (text: string) => {
  const range = parseRange(text)
  if (!range) throw new Error(`not a range: ${text}`)
  return range
}
const rangesOf = {
  4: { pods: rangeOf('198.18.0.0/20'), services: rangeOf('198.18.16.0/20') },
  6: { pods: rangeOf('fd00:0:0:1::/112'), services: rangeOf('fd00:0:0:2::/112') },
} as const
const families = [4, 6] as const
const none = (family: AddressFamily): FamilyRules => ({
  ranges: rangesOf[family],
  pods: [],
  isolations: [],
  hostPorts: [],
  services: { routes: [], local: [] },
})
const cables = 'sffffffff-'
const only = (family: AddressFamily, rules: Partial<FamilyRules>): NodeRules => ({
  cables,
  families: families.map((each) => ({ ...none(each), ...(each === family && rules) })),
})

it('lets nothing of IPv6 out of a cable where Pods have none', () => {
  const { chains } = ruleTable({ cables, families: [none(4)] })
  expect(chains.get('guard_pods')?.[0]).toBe('meta nfproto ipv6 drop')
  expect([...chains.values()].flat().filter((rule) => rule.includes('ip6'))).toEqual([])
})

it('judges what a port of the machine leads to Pods of a user by its client, and leads the answers back', () => {
  const { chains } = ruleTable({ cables, families: families.map(none), byPasta: true })
  expect(chains.get('ingress_output')?.at(-1)).toBe('meta mark 81 goto forwarded')
  expect(chains.get('forwarded')).toEqual([
    'ct state established,related accept',
    'ct mark set 81',
    'ip saddr { 198.18.0.0/20, 198.18.16.0/20 } drop',
    'ip6 saddr { fd00:0:0:1::/112, fd00:0:0:2::/112 } drop',
    'ip daddr vmap @ingress',
    'ip6 daddr vmap @ingress_ipv6',
  ])
  expect(chains.get('forwarded_answers')?.at(-1)).toContain('ct direction reply ct mark 81 meta mark set 83')
  expect(ruleTable({ cables, families: families.map(none) }).chains.has('forwarded')).toBe(false)
})

describe.each(families)('ruleTable for IPv%d', (family) => {
  const at = (number: number) => addressAt(rangesOf[family].pods, number)
  const chain = (parts: TableParts, name: string) => parts.chains.get(name) ?? []

  it('has no rule for an allowance that allows nobody', () => {
    const allowances: Allowance[] = [
      { peers: [], ports: 'all' },
      { peers: 'everyone', ports: [] },
      { owners: [], peers: 'everyone', ports: 'all' },
    ]
    const isolation: Isolation = { family, key: 'a/b', direction: 'ingress', owners: [at(2)], allowances }
    const parts = ruleTable(only(family, { isolations: [isolation] }))
    const policies = [...parts.chains].filter(([name]) => name.startsWith('policy_'))
    expect(policies.map(([, rules]) => rules)).toEqual([[]])
  })

  it('has one chain for all Pods with the same policies, which ends with a drop', () => {
    const isolation = (key: string, owners: string[]): Isolation => ({
      family,
      key,
      owners,
      direction: 'ingress',
      allowances: [],
    })
    const isolations = [isolation('a/b', [at(2), at(3), at(4)]), isolation('a/c', [at(4)])]
    const parts = ruleTable(only(family, { isolations }))
    const chains = [...parts.chains.keys()].filter((name) => /^ingress_[0-9a-f]{16}$/.test(name))
    expect(chains).toHaveLength(2)
    for (const name of chains) expect(chain(parts, name).at(-1)).toBe('drop')
  })

  it('grows with the Pods, not with their pairs', () => {
    const rulesFor = (count: number) => {
      const owners = Array.from({ length: count }, (_, index) => at(256 + 2 * index))
      const { first } = rangesOf[family].pods
      const spans = owners.map((_, index) => ({ first: first + 2n * BigInt(index), last: first + 2n * BigInt(index) }))
      const isolations: Isolation[] = (['ingress', 'egress'] as const).map((direction) => ({
        family,
        key: 'a/b',
        direction,
        owners,
        allowances: [{ peers: spans, ports: 'all' }],
      }))
      return transaction('inet t', ruleTable(only(family, { pods: owners, isolations }))).length
    }
    expect(rulesFor(800)).toBeLessThan(5 * rulesFor(200))
  })
})

/** Any rules of one family that a node may have. */
function anyRules(family: AddressFamily): fc.Arbitrary<FamilyRules> {
  const { pods, services } = rangesOf[family]
  const address = fc.integer({ min: 2, max: 9 }).map((number) => addressAt(pods, number))
  const port = fc.integer({ min: 1, max: 65_535 })
  const protocol = fc.constantFrom('tcp' as const, 'udp' as const)
  const span = fc
    .tuple(fc.nat(200), fc.nat(20))
    .map(([from, size]) => ({ first: pods.first + BigInt(from), last: pods.first + BigInt(from + size) }))
  const portSpan = fc
    .tuple(protocol, port, fc.nat(50))
    .map(([kind, from, size]) => ({ protocol: kind, first: from, last: Math.min(65_535, from + size) }))
  const allowance = fc.record({
    owners: fc.option(fc.uniqueArray(address, { minLength: 1, maxLength: 3 }), { nil: undefined }),
    peers: fc.oneof(fc.constant('everyone' as const), fc.array(span, { maxLength: 1 })),
    ports: fc.oneof(fc.constant('all' as const), fc.array(portSpan, { maxLength: 3 })),
  })
  const isolation = fc.record({
    family: fc.constant(family),
    key: fc.constantFrom('a/a', 'a/b', 'b/a'),
    direction: fc.constantFrom('ingress' as const, 'egress' as const),
    owners: fc.uniqueArray(address, { minLength: 1, maxLength: 4 }),
    allowances: fc.array(
      allowance.map(({ owners, ...rest }) => (owners ? { owners, ...rest } : rest)),
      { maxLength: 3 },
    ),
  })
  const route = fc.record({
    address: fc.integer({ min: 1, max: 5 }).map((number) => addressAt(services, number)),
    protocol,
    port: fc.constantFrom(80, 53),
    endpoints: fc.uniqueArray(fc.record({ address, port: fc.constantFrom(80, 8080) }), {
      minLength: 1,
      maxLength: 3,
      selector: (one) => `${one.address} ${one.port}`,
    }),
    affinity: fc.option(fc.constantFrom(60, 10_800), { nil: undefined }),
  })
  const hostPort = fc.record({
    hostIP: fc.constantFrom('', family === 4 ? '203.0.113.5' : '2001:db8::5'),
    hostPort: fc.constantFrom(8080, 8081),
    protocol,
    address,
    port: fc.constantFrom(80, 81),
  })
  return fc
    .record({
      pods: fc.array(address, { maxLength: 5 }),
      isolations: fc.uniqueArray(isolation, { maxLength: 4, selector: ({ key, direction }) => `${key} ${direction}` }),
      routes: fc.uniqueArray(route, { maxLength: 5, selector: (one) => `${one.address} ${one.protocol} ${one.port}` }),
      hostPorts: fc.uniqueArray(hostPort, {
        maxLength: 3,
        selector: (one: HostPort) => `${one.hostIP} ${one.protocol} ${one.hostPort}`,
      }),
    })
    .map(({ routes, ...rest }): FamilyRules => {
      const planned = routes.map(({ affinity, ...one }): ServiceRoute =>
        affinity === undefined ? one : { ...one, affinitySeconds: affinity },
      )
      return { ...none(family), ...rest, services: { routes: planned, local: [] } }
    })
}

describe.runIf(mayMakeRules)('the packet filter of the machine', () => {
  const tool = new NftTool([findProgram('nft') ?? ''], systemClock)
  const listed = async (table: string) => (await run('nft', ['list', 'table', ...table.split(' ')])).stdout.split('\n')
  const both = fc.tuple(anyRules(4), anyRules(6)).map((some): NodeRules => ({ cables, families: some }))
  const rules = fc.oneof(
    both,
    anyRules(4).map((some): NodeRules => ({ cables, families: [some] })),
  )

  it('comes to the same rules from whatever was there before', async () => {
    const id = randomBytes(4).toString('hex')
    const [changed, fresh] = [`inet sluice_test_${id}`, `inet sluice_fresh_${id}`]
    let previous: TableParts | undefined
    try {
      await fc.assert(
        fc.asyncProperty(rules, async (some) => {
          const parts = ruleTable(some)
          await tool.apply(transaction(changed, parts, previous))
          previous = parts
          await tool.apply(transaction(fresh, parts))
          const [here, there] = [await listed(changed), await listed(fresh)]
          expect(here.slice(1).toSorted()).toEqual(there.slice(1).toSorted())
        }),
        { numRuns: 40 },
      )
    } finally {
      await tool.apply(`add table ${changed}\ndelete table ${changed}\nadd table ${fresh}\ndelete table ${fresh}\n`)
    }
    expect(await tool.hasChain(`${changed} guard`)).toBe(false)
  })
})
