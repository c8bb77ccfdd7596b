import { createSocket } from 'node:dgram'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, type Server, connect as connectTo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type KubernetesClient, connectKubernetes } from '../../src/cluster/kubernetes-client.ts'
import { eventKind } from '../../src/resources/event.ts'
import { networkPolicyKind } from '../../src/resources/network-policy.ts'
import { podKind } from '../../src/resources/pod.ts'
import { OutsideMachine } from '../support/outside-machine.ts'
import { killIfThere, podProcesses, processesMentioning, until } from '../support/sluice-process.ts'
import { UserSluice, whyNotAsUser } from '../support/user-sluice.ts'

const namespace = 'default'
/** How the names of processes begin that lead a port to a Pod. */
const portProcess = 'sluice-port '

/** Says its name and who asks, over TCP once the client has said all it has to say, and over UDP. */
const server = `
const name = process.env.NAME
require('node:net').createServer({ allowHalfOpen: true }, (socket) => {
  let length = 0
  socket.on('data', (bytes) => { length += bytes.length })
  socket.on('end', () => socket.end([name, length, socket.remoteAddress.replace('::ffff:', '')].join(' ')))
  socket.on('error', () => {})
}).listen(8000)
const datagrams = require('node:dgram').createSocket('udp6')
datagrams.on('message', (said, { address, port }) => {
  datagrams.send([name, said, address.replace('::ffff:', '')].join(' '), port, address)
})
datagrams.bind(8001)
`

/** The same client here and outside: prints what it was answered, or the name of the error. */
const askOverTcp = (host: string, port: number, length: number) => `
const socket = require('node:net').connect({ host: '${host}', port: ${port}, allowHalfOpen: true, timeout: 15000 })
let said = ''
socket.on('data', (bytes) => { said += bytes })
socket.on('timeout', () => socket.destroy(Object.assign(new Error(), { code: 'silence' })))
socket.on('end', () => console.log(said))
socket.on('error', ({ code }) => console.log(code))
socket.end(Buffer.alloc(${length}))
`
const askOverUdp = (host: string, port: number) => `
const socket = require('node:dgram').createSocket('${host.includes(':') ? 'udp6' : 'udp4'}')
socket.on('message', (said, { address }) => { console.log(said + ' by ' + address); socket.close(); clearInterval(again) })
const again = setInterval(() => socket.send('hello', ${port}, '${host}'), 200)
`

function askHere(host: string, port: number, length = 3): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTo({ host, port, allowHalfOpen: true, timeout: 15_000 })
    let said = ''
    socket.on('data', (bytes) => (said += String(bytes)))
    socket.on('timeout', () => socket.destroy(Object.assign(new Error('silence'), { code: 'silence' })))
    socket.on('end', () => resolve(said))
    socket.on('error', (error) => resolve('code' in error ? String(error.code) : 'error'))
    socket.end(Buffer.alloc(length))
  })
}

function askHereOverUdp(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    const again = setInterval(() => socket.send('hello', port, host), 200)
    socket.on('message', (said, { address }) => {
      clearInterval(again)
      socket.close()
      resolve(`${said.toString()} by ${address}`)
    })
    socket.send('hello', port, host)
  })
}

/** A listener of somebody else's, on a port that was free. */
async function listenSomewhere(port = 0): Promise<Server> {
  const other = createServer().listen(port, '0.0.0.0')
  await new Promise((resolve, reject) => {
    other.once('listening', resolve)
    other.once('error', reject)
  })
  return other
}

async function freePort(): Promise<number> {
  const other = await listenSomewhere()
  const { port } = other.address() as AddressInfo
  await new Promise((resolve) => other.close(resolve))
  return port
}

describe.skipIf(whyNotAsUser !== undefined)(`Ports of the machine (${whyNotAsUser ?? 'here'})`, () => {
  let folder: string
  let sluice: UserSluice
  let client: KubernetesClient
  let outside: OutsideMachine
  let machineAsPodsSeeIt: string

  interface Port {
    readonly hostPort: number
    readonly hostIP?: string
    readonly protocol?: 'TCP' | 'UDP'
  }

  async function run(name: string, ...ports: Port[]): Promise<void> {
    const asked = ports.map(({ protocol = 'TCP', ...port }) => ({
      containerPort: protocol === 'TCP' ? 8000 : 8001,
      protocol,
      ...port,
    }))
    await client.create(podKind, {
      metadata: { namespace, name, labels: { app: name } },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: 'c',
            image: `${sluice.endpoints.registry}/sluice/llama-cpp:1`,
            command: [process.execPath, '-e', server],
            env: [{ name: 'NAME', value: name }],
            readinessProbe: { tcpSocket: { port: 8000 }, periodSeconds: 1 },
            ports: asked,
          },
        ],
      },
    })
    await until(`${name} to be ready`, 60_000, async () => {
      const pod = await client.get(podKind, { namespace, name })
      machineAsPodsSeeIt = pod?.status?.hostIP ?? ''
      return pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
    })
  }

  /** What a Pod prints that runs this and ends. */
  async function saidByPod(name: string, script: string, ...words: string[]): Promise<string> {
    const image = `${sluice.endpoints.registry}/sluice/llama-cpp:1`
    const toMessage = `console.log = (said) => require('node:fs').writeFileSync('/dev/termination-log', String(said))\n`
    const command = [process.execPath, '-e', toMessage + script, ...words]
    await client.create(podKind, {
      metadata: { namespace, name },
      spec: { restartPolicy: 'Never', containers: [{ name: 'c', image, command }] },
    })
    let said: string | undefined
    await until(`the words of ${name}`, 60_000, async () => {
      const pod = await client.get(podKind, { namespace, name })
      said = pod?.status?.containerStatuses?.[0]?.state?.terminated?.message
      return said !== undefined
    })
    await remove(name)
    return said ?? ''
  }

  async function remove(name: string): Promise<void> {
    await client.delete(podKind, { namespace, name })
    await until(`${name} to be gone`, 60_000, async () => !(await client.get(podKind, { namespace, name })))
  }

  /** What is said of a Pod's ports. */
  async function saidOf(name: string): Promise<string[]> {
    const { items } = await client.list(eventKind, { namespace })
    return items
      .filter(({ involvedObject, reason }) => involvedObject?.name === name && reason?.startsWith('HostPort'))
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`)
  }

  const reached = (host: string, port: number) =>
    until(`port ${port} of ${host}`, 30_000, async () => (await askHere(host, port)) !== 'ECONNREFUSED')

  const left = () => [...processesMentioning(folder), ...podProcesses(sluice.data)]

  const forwarders = () => processesMentioning(portProcess).filter((pid) => processesMentioning(folder).includes(pid))

  beforeAll(async () => {
    outside = OutsideMachine.open()
    folder = mkdtempSync(join(tmpdir(), 'sluice-user-'))
    sluice = await UserSluice.start(folder, { tunnel: true })
    client = await connectKubernetes(sluice.kubeconfig)
  }, 240_000)

  afterAll(async () => {
    client?.close()
    await sluice?.end('SIGKILL')
    outside?.close()
    for (const pid of left()) killIfThere(pid)
    rmSync(folder, { recursive: true, force: true })
  })

  it('lead to Pods of an ordinary user, from the machine and from outside, with the address of who asks', async () => {
    const port = await freePort()
    await run('open', { hostPort: port }, { hostPort: port, protocol: 'UDP' })
    await reached('127.0.0.1', port)
    expect(await askHere('127.0.0.1', port, 5_000_000)).toBe(`open 5000000 ${machineAsPodsSeeIt}`)
    expect(await askHere(outside.near, port)).toBe(`open 3 ${outside.near}`)
    const said = await outside.run(askOverTcp(outside.near, port, 5_000_000))
    expect(said.trim()).toBe(`open 5000000 ${outside.far}`)
    expect(await askHereOverUdp('127.0.0.1', port)).toBe(`open hello ${machineAsPodsSeeIt} by 127.0.0.1`)
    expect(await askHereOverUdp(outside.near, port)).toBe(`open hello ${outside.near} by ${outside.near}`)
    const heard = await outside.run(askOverUdp(outside.near, port))
    expect(heard.trim()).toBe(`open hello ${outside.far} by ${outside.near}`)
    // Where the address is not one of the network that it is in, pasta connects for it.
    const passed = await saidByPod('neighbour', askOverUdp(outside.near, port))
    expect(passed).toBe(`open hello ${outside.near} by ${outside.near}`)
    expect(await saidOf('open')).toEqual([])
  })

  it('lead to Pods by IPv6 where they have it', async ({ skip }) => {
    const port = await freePort()
    await run('double', { hostPort: port }, { hostPort: port, protocol: 'UDP' })
    const { status } = (await client.get(podKind, { namespace, name: 'double' })) ?? {}
    skip(status?.podIPs?.length !== 2, 'Pods have no IPv6 here')
    await reached('::1', port)
    expect(await askHere('::1', port)).toMatch(/^double 3 fd/)
    expect(await askHereOverUdp('::1', port)).toMatch(/^double hello fd\S+ by ::1$/)
    const said = await outside.run(askOverTcp(outside.near6, port, 100_000))
    expect(said.trim()).toBe(`double 100000 ${outside.far6}`)
    const heard = await outside.run(askOverUdp(outside.near6, port))
    expect(heard.trim()).toBe(`double hello ${outside.far6} by ${outside.near6}`)
    await remove('double')
  })

  it('are closed to whom a NetworkPolicy does not name, by the address that it has outside', async () => {
    const port = await freePort()
    await run('guarded', { hostPort: port })
    await reached('127.0.0.1', port)
    const policy = (cidr: string) => ({
      metadata: { namespace, name: 'guard' },
      spec: {
        podSelector: { matchLabels: { app: 'guarded' } },
        policyTypes: ['Ingress' as const],
        ingress: [{ from: [{ ipBlock: { cidr } }] }],
      },
    })
    const ask = async () => (await outside.run(askOverTcp(outside.near, port, 3))).trim()
    await client.create(networkPolicyKind, policy('203.0.113.0/24'))
    await until('the policy to hold', 60_000, async () => (await ask()) === 'ECONNRESET')
    expect(await askHere('127.0.0.1', port)).toBe(`guarded 3 ${machineAsPodsSeeIt}`)
    expect(await saidByPod('sly', askOverTcp(outside.near, port, 3))).toBe('ECONNRESET')
    await client.delete(networkPolicyKind, { namespace, name: 'guard' })
    await client.create(networkPolicyKind, policy(`${outside.far}/32`))
    await until('the other policy to hold', 60_000, async () => (await ask()) === `guarded 3 ${outside.far}`)
    await client.delete(networkPolicyKind, { namespace, name: 'guard' })
    await remove('guarded')
  })

  it('are those of one address, where a Pod asks for one', async () => {
    const port = await freePort()
    await run('inner', { hostPort: port, hostIP: '127.0.0.1' })
    await reached('127.0.0.1', port)
    expect(await askHere(outside.near, port)).toBe('ECONNREFUSED')
    await run('outer', { hostPort: port, hostIP: outside.near })
    await reached(outside.near, port)
    expect(await askHere('127.0.0.1', port)).toBe(`inner 3 ${machineAsPodsSeeIt}`)
    expect(await askHere(outside.near, port)).toBe(`outer 3 ${outside.near}`)
    expect((await outside.run(askOverTcp(outside.near, port, 3))).trim()).toBe(`outer 3 ${outside.far}`)
    await remove('inner')
    await remove('outer')
  })

  it('that cannot be had are said, and had as soon as they can be', async () => {
    const other = await listenSomewhere()
    const { port } = other.address() as AddressInfo
    await run('late', { hostPort: port }, { hostPort: 1, protocol: 'UDP' })
    await until('both to be said', 60_000, async () => (await saidOf('late')).length === 2)
    expect((await saidOf('late')).toSorted()).toEqual([
      expect.stringMatching(
        /^Warning HostPortUnavailable: Port 1\/UDP of the machine cannot be had: this user may not/,
      ),
      `Warning HostPortUnavailable: Port ${port}/TCP of the machine cannot be had: another program has it. It is tried again.`,
    ])
    await new Promise((resolve) => other.close(resolve))
    await reached('127.0.0.1', port)
    expect(await askHere('127.0.0.1', port)).toBe(`late 3 ${machineAsPodsSeeIt}`)
    const good = `Normal HostPortAvailable: Port ${port}/TCP of the machine leads to the Pod now.`
    await until('that to be said', 30_000, async () => (await saidOf('late')).includes(good))
    await remove('late')
  })

  it('are free again after their Pod, and lead to the next one', async () => {
    const port = await freePort()
    await run('first', { hostPort: port })
    await reached('127.0.0.1', port)
    await remove('first')
    await until('the port to be free', 30_000, async () => {
      const other = await listenSomewhere(port).catch(() => undefined)
      await new Promise((resolve) => (other ? other.close(resolve) : resolve(undefined)))
      return other !== undefined
    })
    await run('second', { hostPort: port })
    await reached('127.0.0.1', port)
    expect(await askHere('127.0.0.1', port)).toBe(`second 3 ${machineAsPodsSeeIt}`)
    await remove('second')
  })

  it('go on to lead to Pods while Sluice is gone, and are found by the next one', async () => {
    const port = await freePort()
    await run('lasting', { hostPort: port }, { hostPort: port, protocol: 'UDP' })
    await reached('127.0.0.1', port)
    const before = forwarders()
    await sluice.end('SIGKILL')
    expect(await askHere('127.0.0.1', port)).toBe(`lasting 3 ${machineAsPodsSeeIt}`)
    expect((await outside.run(askOverTcp(outside.near, port, 3))).trim()).toBe(`lasting 3 ${outside.far}`)
    client.close()
    sluice = await UserSluice.start(folder, { tunnel: true })
    client = await connectKubernetes(sluice.kubeconfig)
    expect(await askHere('127.0.0.1', port)).toBe(`lasting 3 ${machineAsPodsSeeIt}`)
    expect(await askHereOverUdp('127.0.0.1', port)).toBe(`lasting hello ${machineAsPodsSeeIt} by 127.0.0.1`)
    expect(before.length).toBeGreaterThan(0)
    expect(forwarders()).toEqual(expect.arrayContaining(before))
    await remove('lasting')
    await until('the port to be given up', 30_000, async () => (await askHere('127.0.0.1', port)) === 'ECONNREFUSED')
  }, 240_000)

  it('are kept by somebody whom no Pod can reach by a signal', async () => {
    const [keeper] = readFileSync(join(sluice.data, 'node/user-network/keeper'), 'utf8').split('\n')
    const script = `
const tried = process.argv.slice(1).map((pid) => { try { return process.kill(Number(pid), 'SIGHUP') } catch ({ code }) { return code } })
console.log(JSON.stringify(tried))`
    const targets = [keeper ?? '', ...forwarders().map(String)]
    const said = await saidByPod('rude', script, ...targets)
    expect(JSON.parse(said)).toEqual(targets.map(() => 'ESRCH'))
  })

  it('are free when Sluice is stopped, and nothing is left', async () => {
    await sluice.end('SIGTERM')
    await until('all to end', 60_000, () => left().length === 0)
    expect(left()).toEqual([])
  }, 90_000)
})
