import { execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Clock, systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import { findProgram } from '../isolation/detect-isolation.ts'
import { addressAt, placeIn } from '../../resources/address-range.ts'
import { BridgeNetwork } from './bridge-network.ts'
import { LoopbackNetwork } from './loopback-network.ts'
import { NetworkNames } from './network-names.ts'
import { hasIpv6 } from './network-stage.fixture.ts'
import { type NetworkChoice, openNetwork } from './open-network.ts'
import type { PodNetwork, PodPlace } from './pod-network.ts'

const run = promisify(execFile)
const machineHasIpv6 =
  findProgram('nft') !== undefined &&
  Object.values(networkInterfaces()).some((all) =>
    all?.some(({ family, scopeid, internal }) => family === 'IPv6' && scopeid === 0 && !internal),
  )
const mayMakeNetworks = process.getuid?.() === 0 && findProgram('ip') !== undefined

async function placed(network: PodNetwork, podUid: string): Promise<PodPlace> {
  const placement = await network.place(podUid, [])
  if ('refused' in placement) throw new Error(placement.refused)
  return placement
}

describe.each<{ choice: NetworkChoice; permitted: boolean }>([
  { choice: 'loopback', permitted: true },
  { choice: 'namespaces', permitted: mayMakeNetworks },
])('a network of Pods by $choice', ({ choice, permitted }) => {
  let folder: string
  let nodeId: string
  let networks: PodNetwork[]
  // One that is to end without a word makes nothing ahead: nobody would do so after its end.
  const open = async (spares?: number) => {
    const network = await openNetwork({ nodeId, folder, choice, clock: systemClock, log: silentLogger, spares })
    networks.push(network)
    return network
  }
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-network-'))
    nodeId = randomUUID()
    networks = []
  })
  afterEach(async () => {
    for (const network of networks) await network.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it.runIf(permitted)('gives every Pod an address of its own, and the same one until it is let go', async () => {
    const network = await open()
    await network.adopt(new Map())
    const places = await Promise.all(['a', 'b', 'c', 'a'].map((uid) => placed(network, uid)))
    expect(new Set(places.map(({ address }) => address)).size).toBe(3)
    expect(places[3]).toEqual(places[0])
    expect(network.of('b')).toEqual(places[1])
    for (const uid of ['a', 'b', 'c']) network.release(uid)
    expect(network.of('b')).toBeUndefined()
  })

  it.runIf(permitted)('keeps the places of Pods that run on when this program ends without a word', async () => {
    const before = await open(0)
    await before.adopt(new Map())
    const kept = await placed(before, 'stays')
    await placed(before, 'goes')
    const after = await open()
    await after.adopt(new Map([['stays', kept.address]]))
    expect(await placed(after, 'stays')).toEqual(kept)
    expect((await placed(after, 'new')).address).not.toBe(kept.address)
    for (const uid of ['stays', 'new']) after.release(uid)
  })
})

describe.runIf(mayMakeNetworks)('the network namespaces of Pods', () => {
  let folder: string
  let network: BridgeNetwork
  let names: NetworkNames
  const inside = (place: PodPlace, ...words: string[]) => run('nsenter', [`--net=${place.namespace}`, ...words])
  const reopen = async (nodeId: string, ipv6?: boolean) => {
    // Nothing is made ahead: one that has crashed would go on doing so here, as no process does that is gone.
    const options = { nodeId, folder, clock: systemClock, log: silentLogger, spares: 0, ipv6 }
    const opened = await openNetwork({ ...options, choice: 'namespaces' })
    if (!(opened instanceof BridgeNetwork)) throw new Error('there are no namespaces here')
    return opened
  }
  let nodeId: string
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-network-'))
    nodeId = randomUUID()
    names = new NetworkNames(nodeId)
    network = await reopen(nodeId)
    await network.adopt(new Map())
  })
  afterEach(async () => {
    await network.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('let Pods listen on the same port of all addresses, and reach each other, Services and the machine', async () => {
    const [one, other] = [await placed(network, 'one'), await placed(network, 'other')]
    const listen = `require('http').createServer((q, s) => s.end(process.argv[1])).listen(80, () => console.log('listens'))`
    const servers = [one, other].map(({ namespace }, index) =>
      execFile('nsenter', [`--net=${namespace}`, process.execPath, '-e', listen, `server ${index}`]),
    )
    try {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.stdout?.once('data', resolve))))
      const fromMachine = await Promise.all([one, other].map(({ address }) => fetch(`http://${address}/`)))
      expect(await Promise.all(fromMachine.map((answer) => answer.text()))).toEqual(['server 0', 'server 1'])
      const ask = `fetch(process.argv[1]).then((a) => a.text()).then((t) => console.log(t))`
      const asked = await inside(other, process.execPath, '-e', ask, `http://${one.address}/`)
      expect(asked.stdout.trim()).toBe('server 0')
    } finally {
      for (const server of servers) server.kill('SIGKILL')
      for (const uid of ['one', 'other']) network.release(uid)
    }
    const service = addressAt(network.ranges.services, 7)
    const api = createServer((_request, answer) => answer.end('a Service'))
    await new Promise<void>((resolve) => api.listen(0, service, resolve))
    const address = api.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const pod = await placed(network, 'client')
    const ask = `fetch(process.argv[1]).then((a) => a.text()).then((t) => console.log(t))`
    expect((await inside(pod, process.execPath, '-e', ask, `http://${service}:${port}/`)).stdout.trim()).toBe(
      'a Service',
    )
    api.close()
    network.release('client')
  })

  it('leave nothing behind when the last Pod is gone', async () => {
    await placed(network, 'one')
    const crashed = network
    // As after a kill: nobody closed the network, and nobody runs in it any more.
    network = await reopen(nodeId)
    await network.adopt(new Map())
    await network.close()
    await crashed.close()
    const { stdout } = await run('ip', ['-o', 'link'])
    expect(stdout).not.toContain(names.bridge)
    expect(stdout).not.toContain(names.cable(0).slice(0, 9))
    expect(readdirSync(NetworkNames.namespaceFolder).filter((name) => names.numberOf(name) !== undefined)).toEqual([])
    for (const family of ['-4', '-6']) {
      const { stdout: routes } = await run('ip', [family, 'route', 'show', 'table', 'all'])
      for (const ours of [network.hostIP, network.hostIP6 ?? network.hostIP, names.bridge])
        expect(routes).not.toContain(ours)
    }
  })

  it.runIf(machineHasIpv6)(
    'have addresses of both families, which no device of the machine comes and goes with',
    async () => {
      const watched = spawn('ip', ['-o', 'monitor', 'address'], { stdio: ['ignore', 'pipe', 'inherit'] })
      const lines = createInterface({ input: watched.stdout })
      const seen: string[] = []
      lines.on('line', (line) => seen.push(line))
      /** What has happened before is seen when this is. */
      const mark = (address: string) =>
        vi.waitFor(
          async () => {
            for (const change of ['add', 'del']) await run('ip', ['addr', change, `${address}/32`, 'dev', 'lo'])
            expect(seen.join('\n')).toContain(address)
          },
          { timeout: 5_000 },
        )
      try {
        await mark('127.88.0.1')
        const [one, other] = [await placed(network, 'one'), await placed(network, 'other')]
        const { ipv6 } = network.ranges
        if (!ipv6) throw new Error('there is no IPv6 here')
        const same = placeIn(network.ranges.pods, one.address) ?? 0
        expect([one.address6, network.hostIP6]).toEqual([addressAt(ipv6.pods, same), addressAt(ipv6.pods, 1)])
        expect(other.address6).not.toBe(one.address6)
        const { stdout } = await inside(one, 'ip', '-6', '-o', 'addr', 'show', 'dev', 'eth0')
        expect(stdout.trim().split('\n')).toHaveLength(1)
        expect(stdout).toContain(one.address6)
        for (const uid of ['one', 'other']) network.release(uid)
        await network.adopt(new Map())
        await mark('127.88.0.2')
      } finally {
        watched.kill()
      }
      expect(seen.filter((line) => line.includes(names.cable(0).slice(0, 9)))).toEqual([])
    },
  )

  it.runIf(machineHasIpv6)('keep what Pods have of IPv6 from before, be it nothing', async () => {
    const old = await reopen(nodeId, false)
    await old.adopt(new Map())
    const before = await placed(old, 'before')
    expect(before.address6).toBeUndefined()
    expect(old.facts.message).toContain('Pods have no IPv6: it was not asked for.')
    // As after a kill, twice.
    network = await reopen(nodeId)
    await network.adopt(new Map([['before', before.address]]))
    expect(await placed(network, 'before')).toEqual(before)
    const after = await placed(network, 'after')
    expect(after.address6).toBeDefined()
    network = await reopen(nodeId)
    await network.adopt(
      new Map([
        ['before', before.address],
        ['after', after.address],
      ]),
    )
    expect([await placed(network, 'before'), await placed(network, 'after')]).toEqual([before, after])
    for (const uid of ['before', 'after']) network.release(uid)
  })
})

describe.runIf(mayMakeNetworks && hasIpv6 && findProgram('nft') !== undefined)('a machine', () => {
  const program = fileURLToPath(new URL('open-network.fixture.ts', import.meta.url))
  const address = 'ip addr add 2001:db8:77::1/64 dev outside nodad'
  const readOnly = (folder: string) => `mount --bind ${folder} ${folder}; mount -o remount,bind,ro ${folder}`
  /** What a network for Pods is on a machine of its own that was made so, and what is left there of it afterwards. */
  const opened = async (made: string) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-network-'))
    const settings = '/proc/sys/net/ipv6/conf'
    const words = [
      'ip link set lo up; ip link add outside type bridge; ip link set outside up',
      made,
      `'${process.execPath}' '${program}' '${folder}'`,
      'ip -o link | grep -c sluice-',
      `cat ${settings}/outside/accept_ra ${settings}/all/forwarding`,
    ]
    const { stdout } = await run('unshare', ['--net', '--mount', 'sh', '-c', words.join('\n')])
    rmSync(folder, { recursive: true, force: true })
    const [said = '', devices, routers, leadsOn] = stdout.trim().split('\n')
    const { place, message } = JSON.parse(said) as { place: PodPlace; message: string }
    return { address6: place.address6, message, devices, routers, leadsOn }
  }
  const own = 'Every Pod has a network namespace of its own.'

  it('with IPv6 leads on, and still hears its own router', async () => {
    expect(await opened(address)).toMatchObject({
      address6: expect.stringMatching(/^fd/) as string,
      message: expect.stringContaining(`${own} Pods have addresses of IPv4 and IPv6.`) as string,
      devices: '0',
      routers: '2',
      leadsOn: '1',
    })
  })

  it.each([
    ['without an address of IPv6', 'true', 'the machine has no address of it'],
    ['that has turned it off', `${address}; echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6`, 'it is turned off'],
    ['whose settings cannot be changed', `${address}; ${readOnly('/proc/sys/net/ipv6')}`, 'EROFS'],
    ['with routes to everywhere', `${address}; ip -6 route add fc00::/7 dev outside`, 'the machine has routes'],
  ])('%s is left as it was, and says why Pods have IPv4 alone', async (_what, made, why) => {
    const found = await opened(made)
    expect(found).toMatchObject({ devices: '0', routers: '1', leadsOn: '0' })
    expect(found.address6).toBeUndefined()
    expect(found.message).toContain(`${own} Pods have no IPv6: ${why}`)
  })
})

describe.runIf(mayMakeNetworks && findProgram('nft') !== undefined)('rules of other networks of this program', () => {
  const gone = new NetworkNames(randomUUID())
  const there = new NetworkNames(randomUUID())
  const foreign = `sluice_${randomUUID().replaceAll('-', '_')}`
  const tables = [gone.table, there.table, foreign]
  beforeEach(async () => {
    await run('ip', ['link', 'add', there.bridge, 'type', 'bridge'])
    for (const table of tables) await run('nft', ['add', 'table', 'inet', table])
  })
  afterEach(async () => {
    await run('ip', ['link', 'del', there.bridge])
    for (const table of tables) await run('nft', ['delete', 'table', 'inet', table]).catch(() => {})
  })

  it('are taken away if their network is gone, since another one may have its addresses', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-network-'))
    const options = { nodeId: randomUUID(), folder, clock: systemClock, log: silentLogger, spares: 0 }
    const network = await openNetwork({ ...options, choice: 'namespaces' })
    const { stdout } = await run('nft', ['list', 'tables'])
    expect(tables.filter((table) => stdout.includes(`table inet ${table}\n`))).toEqual([there.table, foreign])
    await network.close()
    rmSync(folder, { recursive: true, force: true })
  })
})

describe.runIf(mayMakeNetworks)('a machine that is too busy for the programs that make networks', () => {
  /** A clock on which those deadlines of programs have passed at once that `isPast` names by their number. */
  const hasty = (isPast: (deadline: number) => boolean) => {
    let deadlines = 0
    const after: Clock['after'] = (ms, callback) =>
      systemClock.after(ms === 15_000 && isPast(++deadlines) ? 0 : ms, callback)
    return { clock: { ...systemClock, after }, deadlines: () => deadlines }
  }
  let folder: string
  let networks: PodNetwork[]
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-network-'))
    networks = []
  })
  afterEach(async () => {
    for (const network of networks) await network.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const open = async (clock: Clock) => {
    const options = { nodeId: randomUUID(), folder, clock, log: silentLogger, spares: 0 }
    const network = await openNetwork({ ...options, choice: 'detect' })
    networks.push(network)
    return network
  }

  it('has them all the same once they are not cut off any more, whichever of them was', async () => {
    const calm = hasty(() => false)
    const expected = await open(calm.clock)
    expect(expected).toBeInstanceOf(BridgeNetwork)
    const most = calm.deadlines()
    expect(most).toBeGreaterThan(3)
    for (let cut = 1; cut <= most; cut++) {
      const network = await open(hasty((deadline) => deadline === cut).clock)
      expect(network, `cut off: ${cut} of ${most}`).toBeInstanceOf(BridgeNetwork)
      expect(network.facts).toEqual(expected.facts)
      await network.adopt(new Map())
      const { namespace } = await placed(network, 'one')
      const { stdout } = await run('nsenter', [`--net=${namespace}`, 'ip', '-o', 'link', 'show', 'dev', 'eth0'])
      expect(stdout).toContain('state UP')
      network.release('one')
    }
  })

  it('says so in the end, and Pods share its own network', async () => {
    const always = hasty(() => true)
    const network = await open(always.clock)
    expect(network).toBeInstanceOf(LoopbackNetwork)
    expect(network.facts.message).toContain('gave up after 15 s')
    expect(always.deadlines()).toBe(3)
  })
})

it.runIf(process.platform === 'linux')('says why Pods share the network of the machine', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-network-'))
  const options = { nodeId: randomUUID(), folder, clock: systemClock, log: silentLogger }
  const network = await openNetwork({ ...options, choice: 'loopback' })
  expect(network).toBeInstanceOf(LoopbackNetwork)
  expect(network.facts).toMatchObject({ ownNetworks: false })
  expect(network.facts.message).toContain('turned off')
  rmSync(folder, { recursive: true, force: true })
})
