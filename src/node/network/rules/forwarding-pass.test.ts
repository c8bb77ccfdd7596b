import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../foundation/clock.ts'
import { silentLogger } from '../../../foundation/log.ts'
import { findProgram } from '../../isolation/detect-isolation.ts'
import { NftTool } from '../filter-tool.ts'
import { ForwardingPass, readForeignChains } from './forwarding-pass.ts'
import { NetworkNames } from '../network-names.ts'
import { NetworkAgent, hasIpv6, mayMakeRules } from '../network-stage.fixture.ts'

const run = promisify(execFile)
const table = 'sluice_ffffffff'
const cables = 'sffffffff-'

it('finds who lets nothing be forwarded, and where Docker wants the rules of others', () => {
  const chain = (family: string, name: string, more: object = {}) => ({
    chain: { family, table: 'filter', name, ...more },
  })
  const drop = { hook: 'forward', policy: 'drop' }
  const nftables = [
    { metainfo: { version: '1.0.6' } },
    chain('ip', 'FORWARD', drop),
    chain('ip', 'DOCKER-USER'),
    chain('ip', 'INPUT', { hook: 'input', policy: 'drop' }),
    chain('inet', 'forward', { hook: 'forward', policy: 'accept' }),
    chain('ip6', 'FORWARD', drop),
    { chain: { family: 'inet', table, name: 'ours', ...drop } },
  ]
  const found = (...families: string[]) => readForeignChains(JSON.stringify({ nftables }), table, families)
  const closed = (...families: string[]) => found(...families).closed.map(({ family, name }) => `${family} ${name}`)
  expect(closed('ip')).toEqual(['ip FORWARD'])
  expect(closed('ip', 'ip6')).toEqual(['ip FORWARD', 'ip6 FORWARD'])
  expect(found('ip', 'ip6').dockerUser).toEqual(new Set(['ip']))
})

/** A machine that forwards between two Pods, played by a namespace, so that no real firewall is changed. */
describe.runIf(mayMakeRules)('a machine that forwards nothing by itself', () => {
  const id = randomBytes(4).toString('hex')
  const [machine, one, other] = ['machine', 'one', 'other'].map((name) => `sluice-pass-${name}-${id}`)
  const fileOf = (name = '') => `${NetworkNames.namespaceFolder}/${name}`
  const inside = (name = '', words = '') => run('ip', ['netns', 'exec', name, 'sh', '-ec', words])
  const nft = (words: string) => inside(machine, `nft '${words}'`)
  const listed = async () => (await nft('list ruleset')).stdout
  const tool = new NftTool(['nsenter', `--net=${fileOf(machine)}`, findProgram('nft') ?? ''], systemClock)
  let agents: NetworkAgent[]
  let pass: ForwardingPass

  beforeEach(async () => {
    pass = new ForwardingPass({ tool, table, cables, withIpv6: true, log: silentLogger })
    for (const name of [machine, one, other]) await run('ip', ['netns', 'add', name ?? ''])
    for (const [index, pod] of [one, other].entries()) {
      const [cable, gateway, address] = [`${cables}${index}`, `10.9.${index}.1`, `10.9.${index}.2`]
      await inside(
        machine,
        `ip link add ${cable} type veth peer name eth0 netns ${pod}; ip addr add ${gateway}/24 dev ${cable}; ip link set ${cable} up`,
      )
      await inside(pod, `ip addr add ${address}/24 dev eth0; ip link set eth0 up; ip route add default via ${gateway}`)
    }
    await inside(machine, 'echo 1 >/proc/sys/net/ipv4/ip_forward')
    agents = await Promise.all(
      [one, other].map((pod = '', index) => NetworkAgent.start(`pod${index}`, '', fileOf(pod), [80])),
    )
  })
  afterEach(async () => {
    for (const agent of agents) await agent.stop()
    for (const name of [machine, one, other]) await run('ip', ['netns', 'del', name ?? ''])
  })

  const ask = async () => [await agents[0]?.ask('10.9.1.2', 80), await agents[1]?.ask('10.9.0.2', 80)]
  const through = ['pod1 10.9.0.2', 'pod0 10.9.1.2']
  const closeAsDockerDoes = async (more = '') => {
    await nft('add table ip filter')
    if (more !== '') await nft(`add chain ip filter ${more}`)
    await nft('add chain ip filter FORWARD { type filter hook forward priority filter; policy drop; }')
    if (more !== '') await nft(`add rule ip filter FORWARD jump ${more}`)
  }

  it('lets Pods through, by rules that go when they are no longer needed', async () => {
    expect(await ask()).toEqual(through)
    await closeAsDockerDoes()
    expect(await ask()).toEqual(['silence', 'silence'])
    await pass.ensure()
    await pass.ensure()
    expect(await ask()).toEqual(through)
    expect((await listed()).match(/comment "sluice_ffffffff"/g)).toHaveLength(2)
    // Somebody removed one of the rules.
    await inside(
      machine,
      `nft delete rule ip filter FORWARD handle $(nft -a list ruleset | sed -n 's/.*sffffffff.*handle //p' | head -1)`,
    )
    await pass.ensure()
    expect(await ask()).toEqual(through)
    await pass.remove()
    expect(await listed()).not.toContain('sluice_')
  })

  it('keeps to the chain that Docker has for it', async () => {
    await closeAsDockerDoes('DOCKER-USER')
    await pass.ensure()
    expect(await ask()).toEqual(through)
    expect((await nft('list chain ip filter FORWARD')).stdout).not.toContain('sluice_')
    expect(pass.remark).toBeUndefined()
    await pass.remove()
    expect(await listed()).not.toContain('sluice_')
  })

  it.runIf(hasIpv6)('lets Pods through by IPv6, too', async () => {
    const [gateway, address] = ['fd00:9::1', 'fd00:9::2']
    await inside(machine, `ip addr add ${gateway}/64 dev ${cables}0 nodad`)
    await inside(one, `ip addr add ${address}/64 dev eth0 nodad; ip -6 route add default via ${gateway}`)
    await inside(machine, `ip addr add fd00:8::1/64 dev ${cables}1 nodad`)
    await inside(other, `ip addr add fd00:8::2/64 dev eth0 nodad; ip -6 route add default via fd00:8::1`)
    await inside(machine, 'echo 1 >/proc/sys/net/ipv6/conf/all/forwarding')
    await nft('add table ip6 filter')
    await nft('add chain ip6 filter FORWARD { type filter hook forward priority filter; policy drop; }')
    expect(await agents[0]?.ask('fd00:8::2', 80)).toBe('silence')
    await pass.ensure()
    await pass.ensure()
    // Over IPv6, neighbours are found only a second or two after the devices were made.
    await expect.poll(() => agents[0]?.ask('fd00:8::2', 80), { timeout: 20_000 }).toBe(`pod1 ${address}`)
    expect((await listed()).match(/comment "sluice_ffffffff"/g)).toHaveLength(2)
    await pass.remove()
    expect(await listed()).not.toContain('sluice_')
  })

  it('leaves the tables of anybody else alone, and says so', async () => {
    await nft('add table inet wall; add chain inet wall gate { type filter hook forward priority 0; policy drop; }')
    await pass.ensure()
    expect(pass.remark).toContain('inet wall gate')
    expect(await listed()).not.toContain('sluice_')
  })

  it('does nothing where everything is forwarded', async () => {
    const before = await listed()
    await pass.ensure()
    await pass.remove()
    expect(await listed()).toBe(before)
    expect(pass.remark).toBeUndefined()
  })
})
