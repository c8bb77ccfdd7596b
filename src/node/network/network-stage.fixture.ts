import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ObjectCache, ObjectChange } from '../../cluster/informer.ts'
import { systemClock } from '../../foundation/clock.ts'
import { silentLogger } from '../../foundation/log.ts'
import type { EndpointSlice } from '../../resources/endpoint-slice.ts'
import { type KubernetesObject, type ObjectRef, keyOf, refOf } from '../../resources/kubernetes-object.ts'
import type { Namespace } from '../../resources/namespace.ts'
import type { NetworkPolicy } from '../../resources/network-policy.ts'
import { type Pod, podSchema } from '../../resources/pod.ts'
import type { Service } from '../../resources/service.ts'
import { findProgram } from '../isolation/detect-isolation.ts'
import { addressAt, placeIn } from '../../resources/address-range.ts'
import { BridgeNetwork } from './bridge-network.ts'
import { NftTool } from './filter-tool.ts'
import { ConntrackTool } from './rules/flow-tool.ts'
import { NetworkNames } from './network-names.ts'
import { NetworkRules } from './rules/network-rules.ts'
import { openNetwork } from './open-network.ts'

const run = promisify(execFile)
const conntrack = findProgram('conntrack')
/** Whether the kernel has IPv6; the stage brings the addresses. */
export const hasIpv6 = existsSync('/proc/sys/net/ipv6')
export const flowTool = conntrack === undefined ? undefined : new ConntrackTool(conntrack, hasIpv6)
const agentFile = fileURLToPath(new URL('network-agent.fixture.ts', import.meta.url))
export const mayMakeRules = process.getuid?.() === 0 && ['ip', 'nft', 'nsenter'].every((name) => findProgram(name))

/** A cache that holds what a test puts into it. */
export class ListedObjects<T extends KubernetesObject> implements ObjectCache<T> {
  readonly synced = true
  readonly #objects = new Map<string, T>()
  readonly #listeners = new Set<(change: ObjectChange<T>) => void>()

  put(...objects: readonly T[]): void {
    for (const object of objects) {
      const key = keyOf(refOf(object))
      const previous = this.#objects.get(key)
      this.#objects.set(key, object)
      this.#tell({ type: previous ? 'updated' : 'added', object, previous })
    }
  }

  clear(): void {
    for (const [key, object] of this.#objects) {
      this.#objects.delete(key)
      this.#tell({ type: 'deleted', object })
    }
  }

  get(ref: ObjectRef): T | undefined {
    return this.#objects.get(keyOf(ref))
  }

  list(): readonly T[] {
    return [...this.#objects.values()]
  }

  onChange(listener: (change: ObjectChange<T>) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(change: ObjectChange<T>): void {
    for (const listener of this.#listeners) listener(change)
  }
}

type Protocol = 'tcp' | 'udp' | 'heard'

/** A program in a network namespace that can be told to connect, and answers others. */
export class NetworkAgent {
  readonly address: string
  readonly address6: string
  readonly namespace: string
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, (words: string) => void>()
  #last = 0

  private constructor(address: string, address6: string, namespace: string, process: ChildProcess) {
    this.address = address
    this.address6 = address6
    this.namespace = namespace
    this.#process = process
    if (!process.stdout) throw new Error('the agent says nothing')
    createInterface({ input: process.stdout }).on('line', (line) => {
      const { id, words }: { id: number; words: string } = JSON.parse(line)
      this.#waiting.get(id)?.(words)
      this.#waiting.delete(id)
    })
  }

  /** `namespace` is empty for the machine itself. */
  static async start(
    name: string,
    address: string,
    namespace: string,
    ports: readonly number[],
    address6 = '',
  ): Promise<NetworkAgent> {
    const command = [process.execPath, agentFile, name, ports.join(',')]
    const inside = namespace === '' ? command : ['nsenter', `--net=${namespace}`, ...command]
    const child = spawn(inside[0] ?? '', inside.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
    const agent = new NetworkAgent(address, address6, namespace, child)
    await new Promise<string>((resolve) => agent.#waiting.set(0, resolve))
    return agent
  }

  /** Connects and returns the answer: `name address`, `refused` or `silence`. */
  ask(host: string, port: number, protocol: Protocol = 'tcp', from?: string, fromPort?: number): Promise<string> {
    const id = ++this.#last
    const said = new Promise<string>((resolve) => this.#waiting.set(id, resolve))
    this.#process.stdin?.write(`${JSON.stringify({ id, protocol, host, port, from, fromPort })}\n`)
    return said
  }

  /** Senders of datagrams since this was last asked, whether they were answered or not. */
  async heard(): Promise<string[]> {
    return (await this.ask('', 0, 'heard')).split(' ')
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.stdin?.end()
    await ended
  }
}

export interface StagedPod {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly ports: ReadonlyArray<{ containerPort: number; name?: string; hostPort?: number; protocol?: string }>
  readonly listens: readonly number[]
}

/** A node with Pods in real network namespaces, a second machine outside, and the rules under test. */
export class NetworkStage {
  readonly nodeId: string
  readonly services = new ListedObjects<Service>()
  readonly slices = new ListedObjects<EndpointSlice>()
  readonly pods = new ListedObjects<Pod>()
  readonly namespaces = new ListedObjects<Namespace>()
  readonly policies = new ListedObjects<NetworkPolicy>()
  readonly agents = new Map<string, NetworkAgent>()
  readonly network: BridgeNetwork
  readonly rules: NetworkRules
  readonly #folder: string
  readonly #outside: OutsideMachine

  private constructor(nodeId: string, folder: string, network: BridgeNetwork, outside: OutsideMachine) {
    this.nodeId = nodeId
    this.#folder = folder
    this.network = network
    this.#outside = outside
    const { services, slices, pods, namespaces, policies } = this
    this.rules = new NetworkRules({
      nodeId,
      ranges: network.ranges,
      services,
      slices,
      pods,
      namespaces,
      policies,
      tool: new NftTool([findProgram('nft') ?? ''], systemClock),
      flows: flowTool,
      servedHere: new Set(['default/here']),
      clock: systemClock,
      log: silentLogger,
    })
  }

  /** `ipv6`: whether Pods get IPv6 addresses, if the kernel can. */
  static async open(ipv6 = true): Promise<NetworkStage> {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-rules-'))
    const nodeId = randomUUID()
    const options = { nodeId, folder, choice: 'namespaces' as const, clock: systemClock, log: silentLogger, ipv6 }
    const outside = new OutsideMachine(nodeId)
    await outside.open()
    const network = await openNetwork(options)
    if (!(network instanceof BridgeNetwork)) throw new Error('there are no namespaces here')
    await network.adopt(new Map())
    const stage = new NetworkStage(nodeId, folder, network, outside)
    stage.agents.set('outside', await outside.start())
    stage.agents.set('machine', await NetworkAgent.start('machine', network.hostIP, '', [], network.hostIP6))
    return stage
  }

  /** The machine's address as seen from outside. */
  get hostAddress(): string {
    return this.#outside.near
  }

  get hostAddress6(): string {
    return this.#outside.near6
  }

  get table(): string {
    return new NetworkNames(this.nodeId).table
  }

  /** The machine's end of the Pod's veth pair. */
  cable(name: string): string {
    return new NetworkNames(this.nodeId).cable(placeIn(this.network.ranges.pods, this.agent(name).address) ?? 0)
  }

  agent(name: string): NetworkAgent {
    const found = this.agents.get(name)
    if (!found) throw new Error(`there is nobody called ${name}`)
    return found
  }

  service(number: number): string {
    return addressAt(this.network.ranges.services, number)
  }

  service6(number: number): string {
    const { ipv6 } = this.network.ranges
    return ipv6 ? addressAt(ipv6.services, number) : ''
  }

  async addPod({ name, namespace = 'default', labels = {}, ports, listens }: StagedPod): Promise<void> {
    const place = await this.network.place(name)
    if ('refused' in place) throw new Error(place.refused)
    const pod = podSchema.parse({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, uid: name, labels },
      spec: { containers: [{ name: 'main', image: 'x', ports }] },
      status: { phase: 'Running', podIP: place.address },
    })
    this.agents.set(name, await NetworkAgent.start(name, place.address, place.namespace, listens, place.address6))
    this.pods.put(pod)
  }

  /** Puts the rules in force and admits all Pods. */
  async start(): Promise<void> {
    await this.rules.start()
    this.network.guardWith(this.rules)
    for (const pod of this.pods.list()) {
      const place = this.network.of(pod.metadata.uid ?? '')
      if (place) await this.network.admit(pod, place)
    }
  }

  async close(): Promise<void> {
    for (const agent of this.agents.values()) await agent.stop()
    await this.rules.close(true)
    for (const { metadata } of this.pods.list()) this.network.release(metadata.uid ?? '')
    await this.network.close()
    await this.#outside.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Another machine beside this one, played by a namespace. */
class OutsideMachine {
  readonly #name: string
  readonly #device: string
  /** The link between both machines, chosen from so many that two stages hardly ever collide. */
  readonly #link = `198.19.${randomInt(256)}.${4 * randomInt(64)}`
  readonly #link6 = `2001:db8:${randomInt(1, 2 ** 16).toString(16)}:${randomInt(1, 2 ** 16).toString(16)}`
  readonly near6 = `${this.#link6}::1`
  readonly far6 = `${this.#link6}::2`

  constructor(nodeId: string) {
    this.#name = `sluice-outside-${nodeId.slice(0, 8)}`
    this.#device = `so${nodeId.slice(0, 8)}`
  }

  get near(): string {
    return this.#next(1)
  }

  get far(): string {
    return this.#next(2)
  }

  async open(): Promise<void> {
    const device = this.#device
    await run('ip', ['netns', 'add', this.#name])
    await run('ip', ['link', 'add', device, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.#name])
    await run('ip', ['addr', 'add', `${this.near}/30`, 'dev', device])
    if (hasIpv6) await run('ip', ['addr', 'add', `${this.near6}/64`, 'dev', device, 'nodad'])
    await run('ip', ['link', 'set', device, 'up'])
    for (const line of [
      `addr add ${this.far}/30 dev eth0`,
      ...(hasIpv6 ? [`addr add ${this.far6}/64 dev eth0 nodad`] : []),
      'link set eth0 up',
      'link set lo up',
      `route add default via ${this.near}`,
      ...(hasIpv6 ? [`-6 route add default via ${this.near6}`] : []),
    ])
      await run('ip', ['-n', this.#name, ...line.split(' ')])
  }

  start(): Promise<NetworkAgent> {
    const place = `${NetworkNames.namespaceFolder}/${this.#name}`
    return NetworkAgent.start('outside', this.far, place, [80], this.far6)
  }

  async close(): Promise<void> {
    await run('ip', ['netns', 'del', this.#name])
  }

  #next(number: number): string {
    const [a, b, c, d] = this.#link.split('.').map(Number)
    return [a, b, c, (d ?? 0) + number].join('.')
  }
}
