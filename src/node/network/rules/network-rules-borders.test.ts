import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parseAddress } from '../../../resources/address-range.ts'
import { NetworkStage, hasIpv6, mayMakeRules } from '../network-stage.fixture.ts'
import { describeRules } from './ruled-pods.fixture.ts'

const run = promisify(execFile)

describeRules('the rules between Pods and what is outside', (pods) => {
  /** Skips duplicate address detection for IPv6. */
  const atOnce = pods.family === 4 ? [] : ['nodad']

  it.runIf(pods.family === 4)(
    'let no Pod reach the loopback of the machine, not even one with a port of it',
    async () => {
      await pods.stage.rules.settle()
      const server = createServer((socket) => socket.end('private'))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const listening = server.address()
      const port = typeof listening === 'object' && listening ? listening.port : 0
      const inside = (words: string) =>
        run('nsenter', [`--net=${pods.stage.agent('web').namespace}`, 'sh', '-c', words], { timeout: 5_000 })
      // What a program with all rights over its network could do: remove its own loopback, and route it to the machine.
      await inside('ip addr del 127.0.0.1/8 dev lo; echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet')
      await inside(`ip route add 127.0.0.0/8 via ${pods.stage.network.hostIP} src ${pods.address('web')}`)
      try {
        expect(await pods.stage.agent('machine').ask('127.0.0.1', port)).toBe('private')
        expect(await pods.stage.agent('web').ask('127.0.0.1', port)).toBe('silence')
      } finally {
        await inside('ip route del 127.0.0.0/8; ip addr add 127.0.0.1/8 dev lo')
        server.close()
      }
    },
  )

  it('show Pods outside as the machine, and let nobody from outside in', async () => {
    pods.stage.services.put(pods.service('pair', 7))
    pods.stage.slices.put(pods.slice('pair', ['db']))
    await pods.stage.rules.settle()
    expect(await pods.stage.agent('web').ask(pods.address('outside'), 80)).toBe(`outside ${pods.hostAddress}`)
    const outside = pods.stage.agent('outside')
    const asked = [outside.ask(pods.address('web'), 80), outside.ask(pods.serviceAt(7), 8000)]
    expect(await Promise.all(asked)).toEqual(['silence', 'silence'])
  })

  it('let no Pod speak with the address of another', async () => {
    await pods.stage.rules.settle()
    const { namespace } = pods.stage.agent('guest')
    await run('nsenter', [
      `--net=${namespace}`,
      'ip',
      'addr',
      'add',
      pods.single(pods.address('web')),
      'dev',
      'lo',
      ...atOnce,
    ])
    expect(await pods.stage.agent('guest').ask(pods.address('db'), 80, 'tcp', pods.address('web'))).toBe('silence')
    // Datagrams, which need no answer, do not arrive either.
    await pods.stage.agent('stranger').heard()
    expect(await pods.stage.agent('guest').ask(pods.address('stranger'), 1500, 'udp', pods.address('web'))).toBe(
      'silence',
    )
    expect(await pods.stage.agent('stranger').heard()).not.toContain(pods.address('web'))
    expect(await pods.stage.agent('guest').ask(pods.address('db'), 80)).toBe(`db ${pods.address('guest')}`)
    await run('nsenter', [`--net=${namespace}`, 'ip', 'addr', 'del', pods.single(pods.address('web')), 'dev', 'lo'])
  })

  it.runIf(pods.family === 6)('do not listen to a Pod that says it is a router, or another', async () => {
    await pods.stage.rules.settle()
    const cable = pods.stage.cable('guest')
    expect(readFileSync(`/proc/sys/net/ipv6/conf/${cable}/accept_ra`, 'utf8').trim()).toBe('0')
    // Even if somebody made the machine accept router advertisements.
    writeFileSync(`/proc/sys/net/ipv6/conf/${cable}/accept_ra`, '2')
    const inside = (...words: string[]) => run('nsenter', [`--net=${pods.stage.agent('guest').namespace}`, ...words])
    await inside('ip', 'addr', 'add', 'fe80::66/64', 'dev', 'eth0', 'nodad')
    // A router advertisement for half an hour, and a neighbour advertisement that claims the web Pod's address.
    const web = Buffer.from(parseAddress(pods.address('web'))?.value.toString(16).padStart(32, '0') ?? '', 'hex')
    const advertisement = Buffer.from('86000000400007080000000000000000', 'hex')
    const claim = Buffer.concat([Buffer.from('8800000020000000', 'hex'), web, Buffer.from('0201027300000666', 'hex')])
    for (const message of [advertisement, claim]) await inside('perl', '-e', sendToAllNodes, message.toString('hex'))
    const { stdout } = await run('ip', ['-6', 'route', 'show', 'default', 'dev', cable])
    expect(stdout.trim()).toBe('')
    expect(await pods.reaches('machine', 'web')).toBe('reached')
    expect(await pods.reaches('db', 'web')).toBe('reached')
    await inside('ip', 'addr', 'del', 'fe80::66/64', 'dev', 'eth0')
  })

  it.runIf(pods.family === 6)('let a Pod send from no address of IPv6 but its own', async () => {
    await pods.stage.rules.settle()
    const { namespace } = pods.stage.agent('guest')
    const foreign = [pods.stage.network.hostIP6 ?? '', pods.stage.hostAddress6, pods.serviceAt(5), 'fd00:dead::1']
    for (const one of foreign) {
      await run('nsenter', [`--net=${namespace}`, 'ip', 'addr', 'add', pods.single(one), 'dev', 'lo', ...atOnce])
    }
    await pods.stage.agent('db').heard()
    const said = foreign.map((one) => pods.stage.agent('guest').ask(pods.address('db'), 1500, 'udp', one))
    expect(await Promise.all(said)).toEqual(foreign.map(() => 'silence'))
    const heard = await pods.stage.agent('db').heard()
    expect(foreign.filter((one) => heard.includes(one))).toEqual([])
    expect(await pods.stage.agent('guest').ask(pods.address('db'), 1500, 'udp')).toBe(`db ${pods.address('guest')}`)
    for (const one of foreign) {
      await run('nsenter', [`--net=${namespace}`, 'ip', 'addr', 'del', pods.single(one), 'dev', 'lo'])
    }
  })
})

/**
 * Sends an ICMPv6 message to all nodes, with the hop limit 255 that neighbours demand; the kernel adds the checksum.
 */
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
      // The machine has no link-local address there, and the Pod gets its own only after a while.
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
