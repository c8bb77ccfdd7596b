import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import type { Clock } from '../../foundation/clock.ts'
import { errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Pod } from '../../resources/pod.ts'
import {
  type AddressFamily,
  type AddressRange,
  addressAt,
  formatRange,
  placeIn,
  sizeOf,
} from '../../resources/address-range.ts'
import type { ClusterRanges, FamilyRanges } from './choose-ranges.ts'
import { hostPortsOf } from './host-ports.ts'
import { hearNoRouter, leadOnIpv6 } from './machine-ipv6.ts'
import { NamespaceRelay } from './namespace-relay.ts'
import { NetworkNames } from './network-names.ts'
import { NetworkPool } from './network-pool.ts'
import type { NetworkTool } from './network-tool.ts'
import type { NetworkFacts, Placement, PodGuard, PodNetwork, PodPlace } from './pod-network.ts'
import { answerTable, forwardedMarks } from './rules/forwarded-rules.ts'
import { objectsOf, textOf } from './spec-text.ts'
import type { UserNetwork } from './user/user-network.ts'

export interface BridgeNetworkOptions {
  readonly nodeId: string
  readonly ranges: ClusterRanges
  readonly tool: NetworkTool
  readonly clock: Clock
  readonly log: Logger
  /** Why Pods have no IPv6, where they do not. */
  readonly withoutIpv6?: string | undefined
  /** Of an ordinary user: the network that this program is in, as root's is in the machine's. */
  readonly user?: UserNetwork | undefined
  /** How many namespaces wait for Pods. */
  readonly spares?: number | undefined
}

const usualSpares = 2
const ofUser =
  'They are in a network of this user, which reaches what the machine does by pasta: of the machine only Sluice reaches Pods, and leads ports of the machine (hostPort) to them.'
const withoutRelay =
  'The program perl is missing: port-forward does not reach what listens only on the loopback of a Pod.'
/** Address 0 is the network's, address 1 the machine's. */
const machinePlace = 1
const firstPod = 2
const forwarding = '/proc/sys/net/ipv4/ip_forward'

/** As container runtimes have it: what runs in its own network may listen on any port there, and ping. */
function settingsOf(user: UserNetwork | undefined): Readonly<Record<string, string>> {
  // An ordinary user's network knows no other groups than that one.
  const groups = user ? `${process.getgid?.()} ${process.getgid?.()}` : '0 2147483647'
  return { 'ipv4/ip_unprivileged_port_start': '0', 'ipv4/ping_group_range': groups }
}

const hasIpv6 = existsSync('/proc/sys/net/ipv6')

/**
 * Gives each Pod a network namespace, connected to the machine by a veth pair (its cable). Pods reach everything by way
 * of the machine, even each other: so no traffic bypasses its rules, and the sender is known by the device. The bridge
 * has no device in it; it only holds the address by which Pods know the machine.
 */
export class BridgeNetwork implements PodNetwork {
  readonly hostIP: string
  readonly hostIP6: string | undefined
  readonly ranges: ClusterRanges
  readonly #options: BridgeNetworkOptions
  readonly #names: NetworkNames
  readonly #range: AddressRange
  readonly #byPod = new Map<string, PodPlace>()
  readonly #pool: NetworkPool
  readonly #admitted = new Set<string>()
  readonly #hasRelay = NamespaceRelay.find() !== undefined
  #guard: PodGuard | undefined
  /** Networks that former runs left, until it is known which of them are in use. */
  #leftovers: ReadonlySet<number> = new Set()
  /** Those of them without an IPv6 address, made when there was none here. */
  #withoutIpv6 = new Set<number>()

  private constructor(options: BridgeNetworkOptions) {
    this.#options = options
    this.ranges = options.ranges
    this.#names = new NetworkNames(options.nodeId)
    this.#range = options.ranges.pods
    this.hostIP = addressAt(this.#range, machinePlace)
    this.hostIP6 = options.ranges.ipv6 && addressAt(options.ranges.ipv6.pods, machinePlace)
    this.#pool = new NetworkPool({
      first: firstPod,
      // The last address looks like a broadcast address.
      end: sizeOf(this.#range) - 1,
      spares: options.spares ?? usualSpares,
      make: (numbers) => this.#make(numbers),
      remove: (numbers) => options.tool.tryAll(this.#removalOf(numbers)),
      clock: options.clock,
      log: options.log,
    })
  }

  /** Makes the bridge, or takes over the one of a former run. Throws if the machine does not permit it. */
  static async open(options: BridgeNetworkOptions): Promise<BridgeNetwork> {
    const network = new BridgeNetwork(options)
    try {
      await network.#open()
      return network
    } catch (error) {
      // Networks with Pods of a former run stay.
      if (network.#leftovers.size === 0) await network.close()
      throw error
    }
  }

  async #open(): Promise<void> {
    const { tool, ranges } = this.#options
    const { bridge } = this.#names
    this.#leftovers = await this.#left()
    for (const number of this.#leftovers) this.#pool.hold(number)
    await tool.ensure([`link add ${bridge} type bridge`])
    await tool.change([
      `link set ${bridge} up`,
      `addr replace ${this.hostIP}/${ranges.pods.bits} dev ${bridge}`,
      // All Service addresses are local, so that programs can listen on them without each being added.
      `route replace local ${formatRange(ranges.services)} dev lo table local src ${this.hostIP}`,
    ])
    writeFileSync(forwarding, '1')
    if (ranges.ipv6) await this.#openIpv6(ranges.ipv6)
    if (this.#options.user) await this.#leadAnswersBack(ranges.ipv6 ? [4, 6] : [4])
    await this.#pool.fill()
  }

  /** What Pods answer to clients of `forward-port.pl` goes to that program, not to where the client's address leads. */
  async #leadAnswersBack(families: readonly AddressFamily[]): Promise<void> {
    const lines = [
      `rule add fwmark ${forwardedMarks.answer} lookup ${answerTable}`,
      `route replace local default dev lo table ${answerTable}`,
    ]
    // They may exist, of a former run or of another cluster.
    for (const family of families) await this.#options.tool.ensure(lines, family)
  }

  async #openIpv6({ pods, services }: FamilyRanges): Promise<void> {
    const { bridge } = this.#names
    await this.#options.tool.change([
      `addr replace ${this.hostIP6}/${pods.bits} dev ${bridge} nodad`,
      `route replace local ${formatRange(services)} dev lo table local src ${this.hostIP6}`,
    ])
    hearNoRouter(bridge)
    leadOnIpv6()
    if (this.#leftovers.size > 0) this.#withoutIpv6 = await this.#leftWithoutIpv6(pods)
  }

  /** The machine knows the way to all others. */
  async #leftWithoutIpv6(pods: AddressRange): Promise<Set<number>> {
    const routes = await this.#options.tool.read(['-6', 'route', 'show'])
    const reached = new Set(textsOf(routes, 'dst').map((address) => placeIn(pods, address)))
    return new Set([...this.#leftovers].filter((number) => !reached.has(number)))
  }

  get facts(): NetworkFacts {
    const { withoutIpv6, user } = this.#options
    const sentences = [
      'Every Pod has a network namespace of its own.',
      ...(user ? [ofUser] : []),
      ...(this.ranges.ipv6 ? ['Pods have addresses of IPv4 and IPv6.'] : []),
      ...(withoutIpv6 === undefined ? [] : [`Pods have no IPv6: ${withoutIpv6}.`]),
      ...(this.#hasRelay ? [] : [withoutRelay]),
    ]
    const message = sentences.join(' ')
    return { ownNetworks: true, message, ...rulesFacts(this.#guard) }
  }

  /** The network of an ordinary user that it is in, where that is not the machine's. */
  get userNetwork(): UserNetwork | undefined {
    return this.#options.user
  }

  get leadsServices(): boolean {
    return this.#guard !== undefined
  }

  get isInUse(): boolean {
    return this.#byPod.size > 0
  }

  /** From now on, Pods start only after the guard has admitted them. */
  guardWith(guard: PodGuard): void {
    this.#guard = guard
  }

  async admit(pod: Pod, { address, namespace }: PodPlace): Promise<void> {
    const { uid = '' } = pod.metadata
    if (namespace === '' || this.#admitted.has(uid)) return
    await this.#guard?.admit(pod, address)
    if (this.#guard) this.#openLoopback(pod, address)
    this.#admitted.add(uid)
  }

  /**
   * Lets host ports be reached on the machine's loopback, too: the devices of Pods with host ports may carry such
   * traffic. Only with a guard, which keeps all other traffic to the machine's loopback out.
   */
  #openLoopback(pod: Pod, address: string): void {
    const number = placeIn(this.#range, address)
    if (number === undefined || hostPortsOf(pod, address).length === 0) return
    try {
      writeFileSync(`/proc/sys/net/ipv4/conf/${this.#names.cable(number)}/route_localnet`, '1')
    } catch (error) {
      const { log } = this.#options
      log.warn({ err: error, pod: pod.metadata.name }, 'ports of a Pod are not reached at loopback addresses')
    }
  }

  get nextNamespace(): string | undefined {
    const { next } = this.#pool
    return next === undefined ? undefined : this.#names.namespaceFile(next)
  }

  onNextNamespace(listener: () => void): () => void {
    return this.#pool.onNext(listener)
  }

  async adopt(places: ReadonlyMap<string, string>): Promise<void> {
    const used = new Set<number>()
    for (const [podUid, address] of places) {
      const number = placeIn(this.#range, address)
      // A Pod that was started in the machine's network stays there.
      this.#byPod.set(podUid, number === undefined ? { address, namespace: '' } : this.#placeOf(number))
      if (number === undefined) continue
      this.#pool.hold(number)
      used.add(number)
    }
    this.#pool.remove([...this.#leftovers].filter((number) => !used.has(number)))
    this.#leftovers = new Set()
    await this.#pool.removed()
  }

  async place(podUid: string): Promise<Placement> {
    const held = this.#byPod.get(podUid)
    if (held) return held
    let number: number
    try {
      number = await this.#pool.take()
    } catch (error) {
      return { refused: `A network for the Pod cannot be made: ${errorMessage(error)}` }
    }
    // The same Pod may have been placed in the meantime.
    const other = this.#byPod.get(podUid)
    if (other) {
      this.#pool.giveBack(number)
      return other
    }
    const place = this.#placeOf(number)
    this.#byPod.set(podUid, place)
    return place
  }

  of(podUid: string): PodPlace | undefined {
    return this.#byPod.get(podUid)
  }

  release(podUid: string): void {
    const place = this.#byPod.get(podUid)
    if (!place) return
    this.#byPod.delete(podUid)
    this.#admitted.delete(podUid)
    this.#guard?.forget(podUid)
    const number = placeIn(this.#range, place.address)
    if (number !== undefined) this.#pool.remove([number])
  }

  async close(): Promise<void> {
    await this.#pool.close()
    await this.#closeBridge()
    this.#options.tool.close()
  }

  async #closeBridge(): Promise<void> {
    if (this.isInUse) return
    await this.#options.tool.tryAll([
      `link del ${this.#names.bridge}`,
      ...[this.ranges, this.ranges.ipv6].flatMap((ranges) =>
        ranges ? [`route del local ${formatRange(ranges.services)} dev lo table local`] : [],
      ),
    ])
  }

  #placeOf(number: number): PodPlace {
    const { ipv6 } = this.ranges
    return {
      address: this.#addressOf(number),
      ...(ipv6 && !this.#withoutIpv6.has(number) && { address6: addressAt(ipv6.pods, number) }),
      namespace: this.#names.namespaceFile(number),
    }
  }

  #addressOf(number: number): string {
    return addressAt(this.#range, number)
  }

  async #make(numbers: readonly number[]): Promise<void> {
    const { tool } = this.#options
    for (const number of numbers) this.#withoutIpv6.delete(number)
    try {
      await tool.change(numbers.flatMap((number) => this.#cableOf(number)))
      if (this.ranges.ipv6) for (const number of numbers) hearNoRouter(this.#names.cable(number))
      await tool.changeInside(
        numbers.map((number) => ({ namespace: this.#names.namespaceFile(number), lines: this.#insideOf(number) })),
        settingsOf(this.#options.user),
      )
    } catch (error) {
      await tool.tryAll(this.#removalOf(numbers))
      throw error
    }
  }

  #cableOf(number: number): string[] {
    const { machineLink } = this.#names
    const [cable, namespace, podLink] = [
      this.#names.cable(number),
      this.#names.namespace(number),
      this.#names.podLink(number),
    ]
    const { address, address6 } = this.#placeOf(number)
    return [
      `netns add ${namespace}`,
      `link add ${cable} address ${machineLink} type veth peer name eth0 address ${podLink} netns ${namespace}`,
      // No link-local address: browsers take a new or removed address for a network change, and abort what they are
      // loading.
      ...(hasIpv6 ? [`link set ${cable} addrgenmode none`] : []),
      `link set ${cable} up`,
      `route replace ${address} dev ${cable} src ${this.hostIP}`,
      // Without an address the machine cannot ask for its neighbour, so the entry is set here.
      ...(address6 === undefined
        ? []
        : [
            `neigh replace ${address6} lladdr ${podLink} dev ${cable} nud permanent`,
            `route replace ${address6} dev ${cable} src ${this.hostIP6}`,
          ]),
    ]
  }

  #insideOf(number: number): string[] {
    const { address, address6 } = this.#placeOf(number)
    return [
      'link set lo up',
      `addr add ${address}/32 dev eth0`,
      // Without router solicitation and duplicate detection, which nobody would answer.
      ...(address6 === undefined ? [] : ['link set eth0 addrgenmode none', `addr add ${address6}/128 dev eth0 nodad`]),
      'link set eth0 up',
      `route add ${this.hostIP} dev eth0 scope link`,
      `route add default via ${this.hostIP} dev eth0`,
      ...(address6 === undefined
        ? []
        : [
            `neigh replace ${this.hostIP6} lladdr ${this.#names.machineLink} dev eth0 nud permanent`,
            `route add ${this.hostIP6} dev eth0`,
            `route add default via ${this.hostIP6} dev eth0`,
          ]),
    ]
  }

  #removalOf(numbers: readonly number[]): string[] {
    return numbers.flatMap((number) => [
      `link del ${this.#names.cable(number)}`,
      `netns del ${this.#names.namespace(number)}`,
    ])
  }

  /** The numbers of all networks of this node that exist, from any run. */
  async #left(): Promise<ReadonlySet<number>> {
    const links = await this.#options.tool.read(['link', 'show', 'type', 'veth'])
    const names = [...textsOf(links, 'ifname'), ...namespacesThere()]
    return new Set(names.map((name) => this.#names.numberOf(name)).filter((number) => number !== undefined))
  }
}

function rulesFacts(guard: PodGuard | undefined): Pick<NetworkFacts, 'rulesInForce' | 'rulesMessage'> {
  const without = 'NetworkPolicies have no effect, and Pods reach only each other, Services and this machine'
  if (!guard) return { rulesInForce: false, rulesMessage: `The program nft is missing: ${without}.` }
  const { problem } = guard
  if (problem !== undefined) return { rulesInForce: false, rulesMessage: `The rules cannot be changed: ${problem}` }
  const kept = 'NetworkPolicies are kept by the packet filter of the machine.'
  return { rulesInForce: true, rulesMessage: guard.remark === undefined ? kept : `${kept} ${guard.remark}` }
}

/** One field of each object that `ip -json` lists. */
function textsOf(listed: unknown, field: string): string[] {
  return objectsOf(listed).flatMap((one) => textOf(one[field]) || [])
}

function namespacesThere(): string[] {
  try {
    return readdirSync(NetworkNames.namespaceFolder)
  } catch {
    return []
  }
}
