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
import { planServices } from './service-plan.ts'

export interface NetworkRulesOptions {
  readonly nodeId: string
  readonly ranges: ClusterRanges
  readonly tool: FilterTool
  /** Without it, clients over UDP go on sending to an endpoint that is gone for as long as they send. */
  readonly flows?: FlowTool | undefined
  /** They must have been filled before `start`: what is not there yet would be refused. */
  readonly services: ObjectCache<Service>
  readonly slices: ObjectCache<EndpointSlice>
  readonly pods: ObjectCache<Pod>
  readonly namespaces: ObjectCache<Namespace>
  readonly policies: ObjectCache<NetworkPolicy>
  /** `namespace/name` of Services that a program of this machine listens for, whatever is behind them. */
  readonly servedHere: ReadonlySet<string>
  /** What answers at addresses of this machine as if it were a Pod, for those who name it in a policy: cluster DNS. */
  readonly standIns?: readonly PolicyPod[]
  /** The machine's own addresses; those of its interfaces unless told. */
  machineAddresses?(): ReadonlySet<string>
  readonly clock: Clock
  readonly log: Logger
}

const withoutConntrack =
  'The program conntrack is missing: who sends to a Service over UDP may go on sending to a Pod that is gone.'
/** How often it is looked for firewalls of others. */
const lookMs = 30_000
/** In one turn: whoever waits for the rules waits for it. */
const mostForgotten = 128

interface PlacedPod {
  readonly pod: Pod
  readonly address: string
}

/**
 * Keeps the machine's packet filter as the cluster's Services, Pods and NetworkPolicies ask: what kube-proxy and a
 * network plugin are.
 */
export class NetworkRules {
  readonly #options: NetworkRulesOptions
  readonly #applier: RuleApplier
  readonly #cables: string
  readonly #pass: ForwardingPass
  #lookedAt = -Infinity
  /** Pods that have an address before anybody else knows of it. */
  readonly #placed = new Map<string, PlacedPod>()
  readonly #stops: Array<() => void> = []
  #started: Promise<void> | undefined
  #plan: DatagramPlan | undefined
  /** By which the kernel's memory of clients was last put in order. */
  #tidied: string | undefined

  constructor(options: NetworkRulesOptions) {
    this.#options = options
    const names = new NetworkNames(options.nodeId)
    this.#cables = names.cable(0).slice(0, -1)
    const table = names.bridge.replace('-', '_')
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

  /** Why the rules are not what they should be, if they are not. */
  get problem(): string | undefined {
    return this.#applier.problem
  }

  /** What people should know though the rules are as they should be. */
  get remark(): string | undefined {
    const remarks = [this.#pass.remark, this.#options.flows ? undefined : withoutConntrack]
    return remarks.filter((each) => each !== undefined).join(' ') || undefined
  }

  /** The first rules are in force when it is done. */
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
    this.#started = this.#applier.settle()
    return this.#started
  }

  /**
   * To be waited for before anything runs in a Pod: a Pod that a policy selects is isolated from its first packet on.
   * Throws where the rules cannot be made; the Pod must not be started then.
   */
  async admit(pod: Pod, address: string): Promise<void> {
    this.#placed.set(pod.metadata.uid ?? '', { pod, address })
    // Until then it is not known which policies there are.
    if (!this.#started) throw new Error('the rules of the network are not in force yet')
    const { namespace, labels = {} } = pod.metadata
    const isSelected = this.#options.policies
      .list()
      .some(({ metadata, spec }) => metadata.namespace === namespace && selects(spec.podSelector ?? {}, labels))
    if (isSelected) await this.#applier.settle()
    else this.#applier.changed()
  }

  /** The Pod's address is nobody's now. */
  forget(podUid: string): void {
    if (this.#placed.delete(podUid) && this.#started) this.#applier.changed()
  }

  /** Everything that was told until now is in force when it is done. */
  settle(): Promise<void> {
    return this.#applier.settle()
  }

  /** With `remove` nothing is left of the rules: for when no Pod runs any more. */
  async close(remove: boolean): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop()
    await this.#applier.close(remove)
    if (remove) await this.#pass.remove()
  }

  #parts(): TableParts {
    const { ranges } = this.#options
    const [pods, own] = [this.#pods(), this.#options.machineAddresses?.() ?? addressesOfMachine()]
    const families = [this.#familyRules(ranges, pods, own)]
    if (ranges.ipv6) families.push(this.#familyRules(ranges.ipv6, twins(pods, ranges, ranges.ipv6), own))
    this.#plan = {
      routes: families.flatMap(({ services }) => services.routes),
      hostPorts: families.flatMap(({ hostPorts }) => hostPorts),
      ranges: families.map((each) => each.ranges),
    }
    return ruleTable({ cables: this.#cables, families })
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
        // Of IPv6 nobody listens at the address of a Service: to the machine it is led as to anybody.
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
    await this.#forgetFlows()
    const { clock, log } = this.#options
    if (clock.now() < this.#lookedAt + lookMs) return
    this.#lookedAt = clock.now()
    await this.#pass.ensure().catch((error: unknown) => {
      log.warn({ err: error }, 'it is not known whether a firewall of the machine lets Pods through')
    })
  }

  /**
   * A client over UDP that never stops is led to where it first came to, whatever the rules say by now: that is
   * forgotten here.
   */
  async #forgetFlows(): Promise<void> {
    const { flows, log } = this.#options
    const plan = this.#plan
    if (!flows || !plan) return
    const key = datagramKey(plan)
    // At the start nobody knows who was led where before.
    if (key === this.#tidied) return
    try {
      const stale = staleFlows(await flows.list(), plan)
      await flows.forget(stale.slice(0, mostForgotten))
      if (stale.length <= mostForgotten) this.#tidied = key
      else this.#applier.changed()
    } catch (error) {
      // The rules themselves are in force.
      log.warn({ err: error }, 'who sends over UDP may go on sending to where nobody is')
    }
  }

  /** In an order that does not depend on who came first: the same Pods make the same rules. */
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
 * The same Pods at their addresses of the other family. Those are not asked of anybody: whatever is said of a Pod, and
 * even where it has no such address, a policy that closes the one closes the other.
 */
function twins(pods: readonly PlacedPod[], ranges: FamilyRanges, others: FamilyRanges): PlacedPod[] {
  return pods.flatMap(({ pod, address }) => {
    const place = placeIn(ranges.pods, address)
    return place === undefined ? [] : [{ pod, address: addressAt(others.pods, place) }]
  })
}

/** A Pod's status changes often; its rules do not. */
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
