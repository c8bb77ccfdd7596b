import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../foundation/clock.ts'
import { findProgram } from '../isolation/detect-isolation.ts'
import { parseRange } from './address-range.ts'
import { NftTool } from './filter-tool.ts'
import type { HostPort } from './host-ports.ts'
import { mayMakeRules } from './network-stage.fixture.ts'
import type { Allowance, Isolation } from './policy-plan.ts'
import { type NodeRules, ruleTable } from './rule-table.ts'
import { type TableParts, transaction } from './rule-text.ts'
import type { ServiceRoute } from './service-plan.ts'

const run = promisify(execFile)
const nowhere = { first: 0, bits: 32 }
const ranges = { pods: parseRange('198.18.0.0/20') ?? nowhere, services: parseRange('198.18.16.0/20') ?? nowhere }
const none: NodeRules = {
  ranges,
  cables: 'sffffffff-',
  pods: [],
  isolations: [],
  hostPorts: [],
  services: { routes: [], local: [] },
}
const first = (198 << 24) >>> 0

describe('ruleTable', () => {
  const chain = (parts: TableParts, name: string) => parts.chains.get(name) ?? []

  it('has no rule for an allowance that allows nobody', () => {
    const allowances: Allowance[] = [
      { peers: [], ports: 'all' },
      { peers: 'everyone', ports: [] },
      { owners: [], peers: 'everyone', ports: 'all' },
    ]
    const parts = ruleTable({
      ...none,
      isolations: [{ key: 'a/b', direction: 'ingress', owners: ['198.18.0.2'], allowances }],
    })
    const policies = [...parts.chains].filter(([name]) => name.startsWith('policy_'))
    expect(policies.map(([, rules]) => rules)).toEqual([[]])
  })

  it('has one chain for all Pods with the same policies, which ends with a drop', () => {
    const isolation = (key: string, owners: string[]): Isolation => ({
      key,
      owners,
      direction: 'ingress',
      allowances: [],
    })
    const parts = ruleTable({
      ...none,
      isolations: [isolation('a/b', ['198.18.0.2', '198.18.0.3', '198.18.0.4']), isolation('a/c', ['198.18.0.4'])],
    })
    const chains = [...parts.chains.keys()].filter((name) => /^ingress_[0-9a-f]{16}$/.test(name))
    expect(chains).toHaveLength(2)
    for (const name of chains) expect(chain(parts, name).at(-1)).toBe('drop')
  })

  it('grows with the Pods, not with their pairs', () => {
    const rulesFor = (count: number) => {
      const owners = Array.from({ length: count }, (_, index) => `198.18.${1 + (index >> 7)}.${2 * (index & 127)}`)
      const spans = owners.map((_, index) => ({ first: first + 2 * index, last: first + 2 * index }))
      const isolations: Isolation[] = (['ingress', 'egress'] as const).map((direction) => ({
        key: 'a/b',
        direction,
        owners,
        allowances: [{ peers: spans, ports: 'all' }],
      }))
      return transaction('inet t', ruleTable({ ...none, pods: owners, isolations })).length
    }
    expect(rulesFor(800)).toBeLessThan(5 * rulesFor(200))
  })
})

describe.runIf(mayMakeRules)('the packet filter of the machine', () => {
  const tool = new NftTool([findProgram('nft') ?? ''], systemClock)
  const listed = async (table: string) => (await run('nft', ['list', 'table', ...table.split(' ')])).stdout.split('\n')
  const address = fc.integer({ min: 2, max: 9 }).map((number) => `198.18.0.${number}`)
  const port = fc.integer({ min: 1, max: 65_535 })
  const protocol = fc.constantFrom('tcp' as const, 'udp' as const)
  const span = fc
    .tuple(fc.nat(1000), fc.nat(20))
    .map(([from, size]) => ({ first: first + from, last: first + from + size }))
  const portSpan = fc
    .tuple(protocol, port, fc.nat(50))
    .map(([kind, from, size]) => ({ protocol: kind, first: from, last: Math.min(65_535, from + size) }))
  const allowance = fc.record({
    owners: fc.option(fc.uniqueArray(address, { minLength: 1, maxLength: 3 }), { nil: undefined }),
    peers: fc.oneof(fc.constant('everyone' as const), fc.array(span, { maxLength: 1 })),
    ports: fc.oneof(fc.constant('all' as const), fc.array(portSpan, { maxLength: 3 })),
  })
  const isolation = fc.record({
    key: fc.constantFrom('a/a', 'a/b', 'b/a'),
    direction: fc.constantFrom('ingress' as const, 'egress' as const),
    owners: fc.uniqueArray(address, { minLength: 1, maxLength: 4 }),
    allowances: fc.array(
      allowance.map(({ owners, ...rest }) => (owners ? { owners, ...rest } : rest)),
      { maxLength: 3 },
    ),
  })
  const route = fc.record({
    address: fc.integer({ min: 1, max: 5 }).map((number) => `198.18.16.${number}`),
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
    hostIP: fc.constantFrom('', '203.0.113.5'),
    hostPort: fc.constantFrom(8080, 8081),
    protocol,
    address,
    port: fc.constantFrom(80, 81),
  })
  const rules = fc
    .record({
      pods: fc.array(address, { maxLength: 5 }),
      isolations: fc.uniqueArray(isolation, { maxLength: 4, selector: ({ key, direction }) => `${key} ${direction}` }),
      routes: fc.uniqueArray(route, { maxLength: 5, selector: (one) => `${one.address} ${one.protocol} ${one.port}` }),
      hostPorts: fc.uniqueArray(hostPort, {
        maxLength: 3,
        selector: (one: HostPort) => `${one.hostIP} ${one.protocol} ${one.hostPort}`,
      }),
    })
    .map(({ routes, ...rest }): NodeRules => {
      const services = routes.map(({ affinity, ...one }): ServiceRoute =>
        affinity === undefined ? one : { ...one, affinitySeconds: affinity },
      )
      return { ...none, ...rest, services: { routes: services, local: [] } }
    })

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
