import type { ObjectCache, ObjectChange } from '../../../cluster/informer.ts'
import type { Clock } from '../../../foundation/clock.ts'
import type { Logger } from '../../../foundation/log.ts'
import type { EndpointSlice } from '../../../resources/endpoint-slice.ts'
import type { Namespace } from '../../../resources/namespace.ts'
import type { NetworkPolicy } from '../../../resources/network-policy.ts'
import { type Pod, isPodFinished } from '../../../resources/pod.ts'
import type { Service } from '../../../resources/service.ts'
import { selects } from '../../../resources/validation/label-selector-rules.ts'
import { addressAt, parseAddress, placeIn } from '../../../resources/address-range.ts'
import type { ClusterRanges, FamilyRanges } from '../choose-ranges.ts'
import type { FilterTool } from '../filter-tool.ts'
import { planHostPorts } from '../host-ports.ts'
import { addressesOfMachine, isOfMachine } from './machine-addresses.ts'
import { type DatagramPlan, datagramKey, staleFlows } from './datagram-flows.ts'
import type { FlowTool } from './flow-tool.ts'
import { ForwardingPass } from './forwarding-pass.ts'
import { NetworkNames } from '../network-names.ts'
import { planPolicies } from './policy-plan.ts'
import { type PolicyPod, policyPodOf } from './policy-pods.ts'
import { RuleApplier } from './rule-applier.ts'
import { type FamilyRules, ruleTable } from './rule-table.ts'
import type { TableParts } from './rule-text.ts'
import type { OutsidePorts } from '../user/outside-ports.ts'
import { planServices } from './service-plan.ts'

export interface NetworkRulesOptions {
  readonly nodeId: string
  readonly ranges: ClusterRanges
  /**
   * In the network of an ordinary user, where what is outside is reached by pasta: who has the machine's ports lead to
   * Pods.
   */
  readonly outside?: Pick<OutsidePorts, 'want' | 'close'> | undefined
  readonly tool: FilterTool
  /** Without it, UDP clients keep sending to an endpoint that is gone. */
  readonly flows?: FlowTool | undefined
  /** These caches must be synced before `start`, or traffic to missing objects would be refused. */
  readonly services: ObjectCache<Service>
  readonly slices: ObjectCache<EndpointSlice>
  readonly pods: ObjectCache<Pod>
  readonly namespaces: ObjectCache<Namespace>
  readonly policies: ObjectCache<NetworkPolicy>
  /** `namespace/name` of Services that a program on this machine always serves. */
  readonly servedHere: ReadonlySet<string>
  /** Programs on this machine that policies may select as if they were Pods: cluster DNS. */
  readonly standIns?: readonly PolicyPod[]
  /** The machine's addresses; by default those of its interfaces. */
  machineAddresses?(): ReadonlySet<string>
  readonly clock: Clock
  readonly log: Logger
}

const withoutConntrack =
  'The program conntrack is missing: who sends to a Service over UDP may go on sending to a Pod that is gone.'
/** How often to look for foreign firewalls. */
const lookMs = 30_000
/** How many flows are forgotten in one go, since whoever waits for the rules waits for this, too. */
const mostForgotten = 128

interface PlacedPod {
  readonly pod: Pod
  readonly address: string
}

/**
 * Keeps the machine's packet filter in line with the cluster's Services, Pods and NetworkPolicies, as kube-proxy and a
 * network plugin do in Kubernetes.
 */
export class NetworkRules {
  readonly #options: NetworkRulesOptions
  readonly #applier: RuleApplier
  readonly #cables: string
  readonly #pass: ForwardingPass
  #lookedAt = -Infinity
  /** Pods with their addresses from the moment they are placed, before their status shows it. */
  readonly #placed = new Map<string, PlacedPod>()
  readonly #stops: Array<() => void> = []
  #started: Promise<void> | undefined
  #plan: DatagramPlan | undefined
  /** By their addresses, as of the plan. */
  #podAt: ReadonlyMap<string, Pod> = new Map()
  /** The datagram key for which stale flows were last forgotten. */
  #tidied: string | undefined

  constructor(options: NetworkRulesOptions) {
    this.#options = options
    const names = new NetworkNames(options.nodeId)
    this.#cables = names.cable(0).slice(0, -1)
    const { table } = names
    const { tool, clock, log } = options
    this.#pass = new ForwardingPass({
      tool,
      table,
      cables: this.#cables,
      withIpv6: options.ranges.ipv6 !== undefined,
      log,
    })
    this.#applier = new RuleApplier({
      table: `inet ${table}`,
      tool,
      clock,
      log,
      parts: () => this.#parts(),
      afterwards: () => this.#afterwards(),
    })
  }

  /** Why the rules are not in force, if they are not. */
  get problem(): string | undefined {
    return this.#applier.problem
  }

  /** A remark for the operator even though the rules are in force. */
  get remark(): string | undefined {
    const remarks = [this.#pass.remark, this.#options.flows ? undefined : withoutConntrack]
    return remarks.filter((each) => each !== undefined).join(' ') || undefined
  }

  /** Resolves when the first rules are in force. */
  start(): Promise<void> {
    if (this.#started) return this.#started
    const { services, slices, pods, namespaces, policies } = this.#options
    const changed = () => this.#applier.changed()
    this.#stops.push(
      services.onChange(changed),
      slices.onChange(changed),
      namespaces.onChange(changed),
      policies.onChange(changed),
      pods.onChange((change) => {
        if (change.type === 'deleted') this.#placed.delete(change.object.metadata.uid ?? '')
        if (matters(change)) this.#applier.changed()
      }),
    )
    // Flows of a former run are forgotten right after; nobody has to wait for the programs that do it.
    this.#started = this.#applier.inForce()
    return this.#started
  }

  /**
   * Resolves when the Pod may start: one that a policy selects is isolated from its first packet on. Throws if the
   * rules cannot be made; then the Pod must not start.
   */
  async admit(pod: Pod, address: string): Promise<void> {
    this.#placed.set(pod.metadata.uid ?? '', { pod, address })
    // Before the start the policies are not known.
    if (!this.#started) throw new Error('the rules of the network are not in force yet')
    const { namespace, labels = {} } = pod.metadata
    const isSelected = this.#options.policies
      .list()
      .some(({ metadata, spec }) => metadata.namespace === namespace && selects(spec.podSelector ?? {}, labels))
    if (isSelected) await this.#applier.settle()
    else this.#applier.changed()
  }

  /** The Pod has given up its address. */
  forget(podUid: string): void {
    if (this.#placed.delete(podUid) && this.#started) this.#applier.changed()
  }

  /** Resolves when all changes so far are in force. */
  settle(): Promise<void> {
    return this.#applier.settle()
  }

  /** Stops following the cluster. With `remove`, the rules go, too: for when no Pod runs any more. */
  async close(remove: boolean): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop()
    await this.#applier.close(remove)
    this.#options.outside?.close(remove)
    if (remove) await this.#pass.remove()
  }

  #parts(): TableParts {
    const { ranges } = this.#options
    const [pods, own] = [this.#pods(), this.#options.machineAddresses?.() ?? addressesOfMachine()]
    const families = [this.#familyRules(ranges, pods, own)]
    const others = ranges.ipv6 ? twins(pods, ranges, ranges.ipv6) : []
    if (ranges.ipv6) families.push(this.#familyRules(ranges.ipv6, others, own))
    this.#podAt = new Map([...pods, ...others].map(({ pod, address }) => [address, pod]))
    this.#plan = {
      routes: families.flatMap(({ services }) => services.routes),
      hostPorts: families.flatMap(({ hostPorts }) => hostPorts),
      ranges: families.map((each) => each.ranges),
    }
    return ruleTable({ cables: this.#cables, families, byPasta: this.#options.outside !== undefined })
  }

  #familyRules(ranges: FamilyRanges, pods: readonly PlacedPod[], own: ReadonlySet<string>): FamilyRules {
    const { services, slices, namespaces, policies, servedHere, standIns = [] } = this.#options
    const { family } = ranges.pods
    return {
      ranges,
      pods: pods.map(({ address }) => address),
      services: planServices({
        services: services.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined),
        slices: slices.list(),
        range: ranges.services,
        // For IPv6 no program listens on Service addresses, so traffic to the machine is routed like any other.
        isMachine: (address) => family === 4 && isOfMachine(address, own),
        servedHere,
      }),
      isolations: planPolicies({
        family,
        policies: policies.list(),
        pods: [
          ...pods.map(({ pod, address }) => policyPodOf(pod, address)),
          ...standIns.filter(({ address }) => parseAddress(address)?.family === family),
        ],
        namespaces: new Map(namespaces.list().map(({ metadata }) => [metadata.name, metadata.labels ?? {}])),
      }),
      hostPorts: planHostPorts(pods),
    }
  }

  async #afterwards(): Promise<void> {
    this.#options.outside?.want(
      (this.#plan?.hostPorts ?? []).flatMap((port) => {
        const pod = this.#podAt.get(port.address)
        return pod ? [{ port, pod }] : []
      }),
    )
    await this.#forgetFlows()
    const { clock, log } = this.#options
    if (clock.now() < this.#lookedAt + lookMs) return
    this.#lookedAt = clock.now()
    await this.#pass.ensure().catch((error: unknown) => {
      log.warn({ err: error }, 'it is not known whether a firewall of the machine lets Pods through')
    })
  }

  /**
   * A UDP client that never pauses keeps its old endpoint, whatever the rules say. Forgetting its flow makes it follow
   * the new rules.
   */
  async #forgetFlows(): Promise<void> {
    const { flows, log } = this.#options
    const plan = this.#plan
    if (!flows || !plan) return
    const key = datagramKey(plan)
    // At the start this is always different, since flows of an earlier run are unknown.
    if (key === this.#tidied) return
    try {
      const stale = staleFlows(await flows.list(), plan)
      await flows.forget(stale.slice(0, mostForgotten))
      if (stale.length <= mostForgotten) this.#tidied = key
      else this.#applier.changed()
    } catch (error) {
      // Only a warning, since the rules themselves are in force.
      log.warn({ err: error }, 'who sends over UDP may go on sending to where nobody is')
    }
  }

  /** Sorted by address, so that the same Pods always make the same rules. */
  #pods(): PlacedPod[] {
    const byAddress = new Map<string, PlacedPod>()
    const { pods, ranges } = this.#options
    const known = new Set<string>()
    for (const pod of pods.list()) {
      const { uid = '' } = pod.metadata
      known.add(uid)
      const address = addressOf(pod) ?? this.#placed.get(uid)?.address ?? ''
      if (!isPodFinished(pod) && placeIn(ranges.pods, address) !== undefined) byAddress.set(address, { pod, address })
    }
    for (const [uid, placed] of this.#placed) if (!known.has(uid)) byAddress.set(placed.address, placed)
    return [...byAddress.values()].sort((one, other) => (one.address < other.address ? -1 : 1))
  }
}

/**
 * The same Pods at their IPv6 addresses, computed from IPv4 rather than read from their status: so a policy always
 * covers both addresses of a Pod.
 */
function twins(pods: readonly PlacedPod[], ranges: FamilyRanges, others: FamilyRanges): PlacedPod[] {
  return pods.flatMap(({ pod, address }) => {
    const place = placeIn(ranges.pods, address)
    return place === undefined ? [] : [{ pod, address: addressAt(others.pods, place) }]
  })
}

/** Whether a change of a Pod can change the rules; most changes of its status cannot. */
function matters({ type, object, previous }: ObjectChange<Pod>): boolean {
  if (type !== 'updated' || !previous) return true
  const { labels = {} } = object.metadata
  const before = previous.metadata.labels ?? {}
  const sameLabels =
    labels === before ||
    (Object.keys(labels).length === Object.keys(before).length &&
      Object.entries(labels).every(([key, value]) => before[key] === value))
  return !sameLabels || addressOf(object) !== addressOf(previous) || isPodFinished(object) !== isPodFinished(previous)
}

function addressOf({ status }: Pod): string | undefined {
  return status?.podIP
}
