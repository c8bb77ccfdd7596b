import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { EventRecorder } from '../../cluster/event-recorder.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { findProgram } from '../../node/isolation/detect-isolation.ts'
import { BridgeNetwork } from '../../node/network/bridge-network.ts'
import { NftTool } from '../../node/network/filter-tool.ts'
import { ConntrackTool } from '../../node/network/rules/flow-tool.ts'
import { NetworkNames } from '../../node/network/network-names.ts'
import { NetworkRules } from '../../node/network/rules/network-rules.ts'
import type { PodNetwork } from '../../node/network/pod-network.ts'
import { OutsidePorts } from '../../node/network/user/outside-ports.ts'
import type { UserNetwork } from '../../node/network/user/user-network.ts'
import { nodeIdOf } from '../../node/registration/node-id.ts'
import { keyOf } from '../../resources/kubernetes-object.ts'
import { apiServerService } from '../services/api-server-service.ts'
import type { ClusterCaches } from '../cluster-caches.ts'
import { dnsService } from './dns-role.ts'

export interface NetworkRulesRoleOptions {
  readonly client: ClusterClient
  readonly network: PodNetwork
  /** The node's folder in the data directory. */
  readonly folder: string
  readonly caches: ClusterCaches
  /** The address of cluster DNS. */
  readonly dns: string | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** Keeps the machine's packet filter in line with Services, Pods and NetworkPolicies. */
export function networkRulesRole(options: NetworkRulesRoleOptions): Component {
  const { network, log } = options
  const rules = network instanceof BridgeNetwork ? rulesOf(network, options) : undefined
  return {
    name: 'network rules',
    async start() {
      // The Node's status shows the failure, and it is tried again. Only Pods that a policy selects wait for the rules.
      await rules?.start().catch((error: unknown) => log.warn({ err: error }, 'the network of Pods has no rules'))
    },
    async stop() {
      await rules?.close(!network.isInUse)
    },
  }
}

function rulesOf(network: BridgeNetwork, options: NetworkRulesRoleOptions): NetworkRules | undefined {
  const { folder, caches, dns, clock, log } = options
  const nft = findProgram('nft')
  if (nft === undefined) return undefined
  const conntrack = findProgram('conntrack')
  const { services, slices, pods, namespaces, policies } = caches
  const dnsPorts = [
    { name: 'dns', protocol: 'udp', port: 53 },
    { name: 'dns-tcp', protocol: 'tcp', port: 53 },
  ] as const
  const dnsLabels = { 'k8s-app': 'kube-dns' }
  const rules = new NetworkRules({
    nodeId: nodeIdOf(folder),
    ranges: network.ranges,
    outside: network.userNetwork && outsidePorts(network, network.userNetwork, options),
    tool: new NftTool([nft], clock),
    flows: conntrack === undefined ? undefined : new ConntrackTool(conntrack, network.ranges.ipv6 !== undefined),
    services,
    slices,
    pods,
    namespaces,
    policies,
    servedHere: new Set([keyOf(apiServerService), keyOf(dnsService)]),
    standIns:
      dns === undefined ? [] : [{ namespace: dnsService.namespace, labels: dnsLabels, address: dns, ports: dnsPorts }],
    clock,
    log,
  })
  network.guardWith(rules)
  return rules
}

/** Ports of the machine are asked for outside of the network, and Pods that do not get theirs are told. */
function outsidePorts(network: BridgeNetwork, user: UserNetwork, options: NetworkRulesRoleOptions): OutsidePorts {
  const { client, folder, clock, log } = options
  const events = new EventRecorder({ client, component: 'kubelet', clock, log })
  return new OutsidePorts({
    network: user,
    name: new NetworkNames(nodeIdOf(folder)).bridge,
    machine: { ipv4: network.hostIP, ipv6: network.hostIP6 },
    tell({ pod, isOpen, message }) {
      if (isOpen) events.record(pod, 'Normal', 'HostPortAvailable', message)
      else events.record(pod, 'Warning', 'HostPortUnavailable', message)
    },
    clock,
    log,
  })
}
