import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type EndpointSlice, endpointSliceSchema, serviceNameLabel } from '../../resources/endpoint-slice.ts'
import { namespaceSchema } from '../../resources/namespace.ts'
import { type NetworkPolicy, networkPolicySchema } from '../../resources/network-policy.ts'
import { serviceSchema } from '../../resources/service.ts'
import { addressAt, formatRange, parseAddress } from '../../resources/address-range.ts'
import { NetworkStage, flowTool, hasIpv6, mayMakeRules } from './network-stage.fixture.ts'

const run = promisify(execFile)
/** The whole machine has it once, and another run of this test may be under way. */
const hostPort = randomInt(20_000, 30_000)
const names = ['web', 'db', 'guest', 'stranger'] as const
type Name = (typeof names)[number] | 'machine' | 'outside'

const policy = (name: string, spec: NetworkPolicy['spec'], namespace = 'default') =>
  networkPolicySchema.parse({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace },
    spec,
  })

const families = hasIpv6 ? ([4, 6] as const) : ([4] as const)

describe.runIf(mayMakeRules).each(families)('the rules of the network, of IPv%d,', (family) => {
  let stage: NetworkStage

  beforeAll(async () => {
    stage = await NetworkStage.open()
    const listens = [80, 81, 1500]
    const ports = [{ containerPort: 80, name: 'http' }]
    const webPorts = [
      { containerPort: 80, hostPort },
      { containerPort: 81, hostPort, protocol: 'UDP' },
    ]
    await stage.addPod({ name: 'web', labels: { app: 'web' }, ports: webPorts, listens })
    await stage.addPod({ name: 'db', labels: { app: 'db' }, ports: [{ containerPort: 81, name: 'http' }], listens })
    await stage.addPod({ name: 'guest', labels: { app: 'guest' }, ports, listens })
    await stage.addPod({ name: 'stranger', namespace: 'elsewhere', labels: { app: 'web' }, ports, listens })
    for (const name of ['default', 'elsewhere'])
      stage.namespaces.put(
        namespaceSchema.parse({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { name } } }),
      )
    await stage.start()
  })
  beforeEach(() => {
    stage.policies.clear()
    stage.services.clear()
    stage.slices.clear()
  })
  afterAll(() => stage.close())

  const address = (name: Name) => {
    const { address: four, address6: six } = stage.agent(name)
    return family === 4 ? four : six
  }
  const ranges = () => {
    const { ipv6, ...four } = stage.network.ranges
    return family === 4 ? four : (ipv6 ?? four)
  }
  /** An address of IPv6 is not asked about first. */
  const atOnce = family === 4 ? [] : ['nodad']
  const single = (one: string) => `${one}/${family === 4 ? 32 : 128}`
  const serviceAt = (number: number) => (family === 4 ? stage.service(number) : stage.service6(number))
  const hostAddress = () => (family === 4 ? stage.hostAddress : stage.hostAddress6)
  const hostIP = () => (family === 4 ? stage.network.hostIP : stage.network.hostIP6)
  const reaches = async (from: Name, to: Name, port = 80) => {
    const said = await stage.agent(from).ask(address(to), port)
    return said === `${to} ${address(from)}` ? 'reached' : said
  }
  /** Who reaches whom, as lines such as `web → db`. */
  const table = async (...ports: number[]) => {
    const pairs = names.flatMap((from) => names.flatMap((to) => ports.map((port) => ({ from, to, port }))))
    const others = pairs.filter(({ from, to }) => from !== to)
    const said = await Promise.all(others.map(({ from, to, port }) => reaches(from, to, port)))
    expect(said.filter((each) => each !== 'reached' && each !== 'silence')).toEqual([])
    return others
      .filter((_pair, index) => said[index] === 'reached')
      .map(({ from, to, port }) => `${from} → ${to}${ports.length > 1 ? `:${port}` : ''}`)
  }
  const apply = async (...policies: NetworkPolicy[]) => {
    stage.policies.put(...policies)
    await stage.rules.settle()
  }
  const all = names.flatMap((from) => names.filter((to) => to !== from).map((to) => `${from} → ${to}`))
  const into = (name: string, sources: readonly string[]) =>
    all.filter((pair) => !pair.endsWith(`→ ${name}`) || sources.some((source) => pair === `${source} → ${name}`))
  const db = { matchLabels: { app: 'db' } }

  it('let every Pod reach every other where there is no policy', async () => {
    await stage.rules.settle()
    expect(await table(80)).toEqual(all)
  })

  it('close a Pod that a policy lets nobody into, but not to the machine it is on', async () => {
    await apply(policy('closed', { podSelector: db }))
    expect(await table(80)).toEqual(into('db', []))
    expect(await reaches('machine', 'db')).toBe('reached')
  })

  it('let Pods in by their labels, of the same namespace', async () => {
    await apply(
      policy('web', { podSelector: db, ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }] }] }),
    )
    expect(await table(80)).toEqual(into('db', ['web']))
  })

  it('let Pods in by the labels of their namespaces', async () => {
    const namespaceSelector = { matchLabels: { name: 'elsewhere' } }
    await apply(policy('elsewhere', { podSelector: db, ingress: [{ from: [{ namespaceSelector }] }] }))
    expect(await table(80)).toEqual(into('db', ['stranger']))
    const guests = { namespaceSelector, podSelector: { matchLabels: { app: 'guest' } } }
    await apply(policy('elsewhere', { podSelector: db, ingress: [{ from: [guests] }] }))
    expect(await table(80)).toEqual(into('db', []))
  })

  it('let blocks of addresses in, except for parts of them', async () => {
    const cidr = formatRange(ranges().pods)
    const ipBlock = { cidr, except: [single(address('guest'))] }
    await apply(policy('block', { podSelector: db, ingress: [{ from: [{ ipBlock }] }] }))
    expect(await table(80)).toEqual(into('db', ['web', 'stranger']))
    // Who is let in by one family is not by the other.
    const other = { cidr: family === 4 ? '::/0' : '0.0.0.0/0' }
    await apply(policy('block', { podSelector: db, ingress: [{ from: [{ ipBlock: other }] }] }))
    expect(await table(80)).toEqual(into('db', []))
  })

  it('let in at some ports only: by number, by name and by range', async () => {
    const ports = [
      { port: 'http', protocol: 'TCP' },
      { port: 1000, endPort: 2000 },
    ]
    await apply(policy('ports', { podSelector: db, ingress: [{ ports }] }))
    const said = await Promise.all([80, 81, 1500].map((port) => reaches('web', 'db', port)))
    expect(said).toEqual(['silence', 'reached', 'reached'])
    expect(await stage.agent('web').ask(address('db'), 81, 'udp')).toBe('silence')
  })

  it('keep a Pod from reaching anybody, with an exception, the machine included', async () => {
    const spec = { podSelector: { matchLabels: { app: 'guest' } }, policyTypes: ['Egress'] }
    await apply(policy('closed', spec))
    expect(await table(80)).toEqual(all.filter((pair) => !pair.startsWith('guest')))
    const dns = { ports: [{ port: 81, protocol: 'UDP' }] }
    await apply(policy('closed', { ...spec, egress: [dns] }))
    const guest = stage.agent('guest')
    expect(await guest.ask(address('db'), 81, 'udp')).toBe(`db ${address('guest')}`)
    expect(await Promise.all([guest.ask(address('db'), 81), guest.ask(address('outside'), 80)])).toEqual([
      'silence',
      'silence',
    ])
    // A connection that nobody listens for is refused by the machine, if it comes there.
    expect(await Promise.all([guest, stage.agent('web')].map((one) => one.ask(hostAddress(), 1)))).toEqual([
      'silence',
      'refused',
    ])
  })

  it('add up what policies allow, and ask at both ends', async () => {
    await apply(
      policy('closed', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }),
      policy('into', { podSelector: db, ingress: [{ from: [{ podSelector: {} }] }] }),
      policy('out', { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Egress'], egress: [{}] }),
    )
    expect(await table(80)).toEqual(['web → db', 'web → stranger'])
  })

  const service = (name: string, number: number, extra: object = {}) =>
    serviceSchema.parse({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: 'default' },
      spec: {
        clusterIP: serviceAt(number),
        clusterIPs: [serviceAt(number)],
        ports: [
          { port: 8000, targetPort: 80 },
          { port: 53, targetPort: 81, protocol: 'UDP', name: 'dns' },
        ],
        ...extra,
      },
    })
  const slice = (name: string, addresses: readonly string[]): EndpointSlice =>
    endpointSliceSchema.parse({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, namespace: 'default', labels: { [serviceNameLabel]: name } },
      addressType: `IPv${family}`,
      endpoints: addresses.map((one) => ({ addresses: [one] })),
      ports: [{ port: 80 }, { port: 81, protocol: 'UDP', name: 'dns' }],
    })
  const many = async (from: Name, host: string, count: number) => {
    const said = await Promise.all(Array.from({ length: count }, () => stage.agent(from).ask(host, 8000)))
    return new Set(said)
  }

  it('lead from a Service to every Pod behind it, from Pods and from the machine', async () => {
    stage.services.put(service('pair', 7))
    stage.slices.put(slice('pair', [address('web'), address('db')]))
    await stage.rules.settle()
    for (const from of ['guest', 'machine'] as const) {
      const both = new Set([`web ${address(from)}`, `db ${address(from)}`])
      expect(await many(from, serviceAt(7), 40)).toEqual(both)
      expect(both).toContain(await stage.agent(from).ask(serviceAt(7), 53, 'udp'))
    }
    // A Pod that comes to itself is answered, too.
    expect(await many('web', serviceAt(7), 40)).toEqual(new Set([`web ${hostIP()}`, `db ${address('web')}`]))
  })

  it.runIf(flowTool)('lead who goes on sending over UDP to another Pod when the one it came to is gone', async () => {
    stage.services.put(service('pair', 7))
    stage.slices.put(slice('pair', [address('web')]))
    await stage.rules.settle()
    const ask = (from: Name, host: string, port: number) => stage.agent(from).ask(host, port, 'udp', undefined, 45_678)
    for (const from of ['guest', 'machine'] as const) {
      expect(await ask(from, serviceAt(7), 53)).toBe(`web ${address(from)}`)
    }
    stage.slices.put(slice('pair', [address('db')]))
    await stage.rules.settle()
    for (const from of ['guest', 'machine'] as const) {
      expect(await ask(from, serviceAt(7), 53)).toBe(`db ${address(from)}`)
    }
    // Who was led where it still may be led stays there.
    expect(await ask('guest', hostAddress(), hostPort)).toBe(`web ${address('guest')}`)
    expect((await flowTool?.list())?.filter(({ endpoint }) => endpoint === address('web'))).toHaveLength(1)
  })

  it('keep a client with the Pod that it first came to, also when other things change', async () => {
    stage.services.put(service('sticky', 8, { sessionAffinity: 'ClientIP' }))
    stage.slices.put(slice('sticky', [address('web'), address('db')]))
    await stage.rules.settle()
    const first = await many('guest', serviceAt(8), 1)
    expect(await many('guest', serviceAt(8), 20)).toEqual(first)
    await apply(policy('unrelated', { podSelector: { matchLabels: { app: 'stranger' } } }, 'elsewhere'))
    stage.services.put(service('other', 9))
    stage.slices.put(slice('other', [address('db')]))
    await stage.rules.settle()
    expect(await many('guest', serviceAt(8), 20)).toEqual(first)
    expect((await many('guest', serviceAt(9), 1)).size).toBe(1)
  })

  it('refuse who comes to a Service without anybody behind it, or to a port it does not have', async () => {
    stage.services.put(service('empty', 10), service('pair', 7))
    stage.slices.put(slice('pair', [address('web')]))
    await stage.rules.settle()
    for (const from of ['guest', 'machine'] as const) {
      const agent = stage.agent(from)
      const asked = [agent.ask(serviceAt(10), 8000), agent.ask(serviceAt(7), 1), agent.ask(serviceAt(10), 53, 'udp')]
      expect(await Promise.all(asked)).toEqual(['refused', 'refused', 'refused'])
    }
  })

  it('judge what goes through a Service by the Pods that it goes between', async () => {
    stage.services.put(service('pair', 7))
    stage.slices.put(slice('pair', [address('db')]))
    await apply(
      policy('web', { podSelector: db, ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }] }] }),
    )
    expect(await many('web', serviceAt(7), 1)).toEqual(new Set([`db ${address('web')}`]))
    expect(await many('guest', serviceAt(7), 1)).toEqual(new Set(['silence']))
  })

  it('lead from a port of the machine to the Pod that asked for it', async () => {
    await stage.rules.settle()
    expect(await stage.agent('outside').ask(hostAddress(), hostPort)).toBe(`web ${address('outside')}`)
    expect(await stage.agent('machine').ask(hostAddress(), hostPort)).toBe(`web ${hostAddress()}`)
    expect(await stage.agent('guest').ask(hostAddress(), hostPort)).toBe(`web ${address('guest')}`)
    expect(await stage.agent('web').ask(hostAddress(), hostPort)).toBe(`web ${hostIP()}`)
  })

  it.runIf(family === 4)('lead there from the loopback of the machine, too, over UDP as well', async () => {
    await stage.rules.settle()
    const machine = stage.agent('machine')
    for (const loopback of ['127.0.0.1', '127.7.7.7']) {
      expect(await machine.ask(loopback, hostPort)).toBe(`web ${hostIP()}`)
      expect(await machine.ask(loopback, hostPort, 'udp')).toBe(`web ${hostIP()}`)
    }
  })

  it.runIf(family === 4)('let no Pod reach the loopback of the machine, not even one with a port of it', async () => {
    await stage.rules.settle()
    const server = createServer((socket) => socket.end('private'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const listening = server.address()
    const port = typeof listening === 'object' && listening ? listening.port : 0
    const inside = (words: string) =>
      run('nsenter', [`--net=${stage.agent('web').namespace}`, 'sh', '-c', words], { timeout: 5_000 })
    // As a program with all rights over its network would: its own loopback gone, and a way there by its cable.
    await inside('ip addr del 127.0.0.1/8 dev lo; echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet')
    await inside(`ip route add 127.0.0.0/8 via ${stage.network.hostIP} src ${address('web')}`)
    try {
      expect(await stage.agent('machine').ask('127.0.0.1', port)).toBe('private')
      expect(await stage.agent('web').ask('127.0.0.1', port)).toBe('silence')
    } finally {
      await inside('ip route del 127.0.0.0/8; ip addr add 127.0.0.1/8 dev lo')
      server.close()
    }
  })

  it('show Pods outside as the machine, and let nobody from outside in', async () => {
    stage.services.put(service('pair', 7))
    stage.slices.put(slice('pair', [address('db')]))
    await stage.rules.settle()
    expect(await stage.agent('web').ask(address('outside'), 80)).toBe(`outside ${hostAddress()}`)
    const outside = stage.agent('outside')
    const asked = [outside.ask(address('web'), 80), outside.ask(serviceAt(7), 8000)]
    expect(await Promise.all(asked)).toEqual(['silence', 'silence'])
  })

  it('let no Pod speak with the address of another', async () => {
    await stage.rules.settle()
    const { namespace } = stage.agent('guest')
    await run('nsenter', [`--net=${namespace}`, 'ip', 'addr', 'add', single(address('web')), 'dev', 'lo', ...atOnce])
    expect(await stage.agent('guest').ask(address('db'), 80, 'tcp', address('web'))).toBe('silence')
    // Nor does what needs no answer arrive.
    await stage.agent('stranger').heard()
    expect(await stage.agent('guest').ask(address('stranger'), 1500, 'udp', address('web'))).toBe('silence')
    expect(await stage.agent('stranger').heard()).not.toContain(address('web'))
    expect(await stage.agent('guest').ask(address('db'), 80)).toBe(`db ${address('guest')}`)
    await run('nsenter', [`--net=${namespace}`, 'ip', 'addr', 'del', single(address('web')), 'dev', 'lo'])
  })

  it.runIf(family === 6)('do not listen to a Pod that says it is a router, or another', async () => {
    await stage.rules.settle()
    const cable = stage.cable('guest')
    expect(readFileSync(`/proc/sys/net/ipv6/conf/${cable}/accept_ra`, 'utf8').trim()).toBe('0')
    // Even where somebody made the machine listen.
    writeFileSync(`/proc/sys/net/ipv6/conf/${cable}/accept_ra`, '2')
    const inside = (...words: string[]) => run('nsenter', [`--net=${stage.agent('guest').namespace}`, ...words])
    await inside('ip', 'addr', 'add', 'fe80::66/64', 'dev', 'eth0', 'nodad')
    // A router's advertisement, for half an hour; and a neighbour's, that the web Pod's address is here.
    const web = Buffer.from(parseAddress(address('web'))?.value.toString(16).padStart(32, '0') ?? '', 'hex')
    const advertisement = Buffer.from('86000000400007080000000000000000', 'hex')
    const claim = Buffer.concat([Buffer.from('8800000020000000', 'hex'), web, Buffer.from('0201027300000666', 'hex')])
    for (const message of [advertisement, claim]) await inside('perl', '-e', sendToAllNodes, message.toString('hex'))
    const { stdout } = await run('ip', ['-6', 'route', 'show', 'default', 'dev', cable])
    expect(stdout.trim()).toBe('')
    expect(await reaches('machine', 'web')).toBe('reached')
    expect(await reaches('db', 'web')).toBe('reached')
    await inside('ip', 'addr', 'del', 'fe80::66/64', 'dev', 'eth0')
  })

  it.runIf(family === 6)('let a Pod send from no address of IPv6 but its own', async () => {
    await stage.rules.settle()
    const { namespace } = stage.agent('guest')
    const foreign = [stage.network.hostIP6 ?? '', stage.hostAddress6, serviceAt(5), 'fd00:dead::1']
    for (const one of foreign) {
      await run('nsenter', [`--net=${namespace}`, 'ip', 'addr', 'add', single(one), 'dev', 'lo', ...atOnce])
    }
    await stage.agent('db').heard()
    const said = foreign.map((one) => stage.agent('guest').ask(address('db'), 1500, 'udp', one))
    expect(await Promise.all(said)).toEqual(foreign.map(() => 'silence'))
    const heard = await stage.agent('db').heard()
    expect(foreign.filter((one) => heard.includes(one))).toEqual([])
    expect(await stage.agent('guest').ask(address('db'), 1500, 'udp')).toBe(`db ${address('guest')}`)
    for (const one of foreign) {
      await run('nsenter', [`--net=${namespace}`, 'ip', 'addr', 'del', single(one), 'dev', 'lo'])
    }
  })

  it('isolate a Pod before anybody knows of its address', async () => {
    await apply(policy('closed', { podSelector: { matchLabels: { app: 'guest' } } }))
    const [guest] = stage.pods.list().filter(({ metadata }) => metadata.name === 'guest')
    if (!guest) throw new Error('the Pod is not there')
    const newcomer = { ...guest, metadata: { ...guest.metadata, name: 'new', uid: 'new' }, status: undefined }
    const [four, expected] = [addressAt(stage.network.ranges.pods, 4000), addressAt(ranges().pods, 4000)]
    await stage.rules.admit(newcomer, four)
    const rules = async () => (await run('nft', ['list', 'table', 'inet', stage.table])).stdout
    expect(await rules()).toContain(`${expected} : goto ingress_`)
    stage.rules.forget('new')
    await stage.rules.settle()
    expect(await rules()).not.toContain(expected)
  })
})

/** Hop limit 255, as neighbours demand; the kernel adds the checksum. */
const sendToAllNodes = `
use Socket qw(:all);
socket(my $s, AF_INET6, SOCK_RAW, 58) or die $!;
setsockopt($s, 41, 18, pack("i", 255)) or die $!;
setsockopt($s, 41, 17, pack("i", 0 + (split / /, \`ip -o link show eth0\`)[0])) or die $!;
send($s, pack("H*", $ARGV[0]), 0, pack_sockaddr_in6(0, inet_pton(AF_INET6, "ff02::1"))) or die $!;
`

describe.runIf(mayMakeRules && hasIpv6)('the rules of a network without IPv6', () => {
  it('let no Pod send over it, since nobody judges where it goes', async () => {
    const stage = await NetworkStage.open(false)
    const server = createServer((socket) => socket.end('reached'))
    try {
      await stage.addPod({ name: 'web', ports: [], listens: [] })
      await stage.start()
      await new Promise<void>((resolve) => server.listen(0, '::', resolve))
      const listening = server.address()
      const port = typeof listening === 'object' && listening ? listening.port : 0
      // The machine has none there by itself, and the Pod's own takes a while.
      await run('ip', ['-6', 'addr', 'add', 'fe80::1/64', 'dev', stage.cable('web'), 'nodad'])
      const inside = [
        `--net=${stage.agent('web').namespace}`,
        'ip',
        'addr',
        'add',
        'fe80::2/64',
        'dev',
        'eth0',
        'nodad',
      ]
      await run('nsenter', inside)
      expect(await stage.agent('web').ask('fe80::1%eth0', port)).toBe('silence')
    } finally {
      server.close()
      await stage.close()
    }
  })
})
