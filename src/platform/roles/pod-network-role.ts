import { join } from 'node:path'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { type Isolation, detectIsolation } from '../../node/isolation/detect-isolation.ts'
import { BridgeNetwork } from '../../node/network/bridge-network.ts'
import { LoopbackNetwork } from '../../node/network/loopback-network.ts'
import { type NetworkChoice, openNetwork } from '../../node/network/open-network.ts'
import type { NetworkFacts, PodNetwork } from '../../node/network/pod-network.ts'
import type { UserNetworkFacts } from '../../node/network/user/user-network.ts'
import { nodeIdOf } from '../../node/registration/node-id.ts'
import type { DataFolder } from '../data/data-directory.ts'
import { type ServiceNetwork, bridgedServiceNetwork, embeddedServiceNetwork } from '../services/service-network.ts'

export interface PodNetworkOptions {
  readonly directory: DataFolder
  readonly clusterId: string
  readonly choice: NetworkChoice
  readonly ipv6?: boolean | undefined
  /** Whether Pods of another cluster of this program have it. */
  readonly provenIpv6?: boolean | undefined
  /** What the machine permits, if that was detected already. */
  readonly isolation?: Isolation | undefined
  readonly userNetwork?: UserNetworkFacts | undefined
  readonly clock: Clock
  readonly log: Logger
}

export interface OpenedNetwork {
  readonly isolation: Isolation
  readonly network: PodNetwork
  readonly services: ServiceNetwork
}

/**
 * Finds out how Pods can be isolated on this machine, and opens the network that Pods and Services get addresses from.
 */
export async function openPodNetwork(options: PodNetworkOptions): Promise<OpenedNetwork> {
  const { directory, clusterId, choice, ipv6, provenIpv6, userNetwork, clock, log } = options
  const folder = directory.folder('node')
  const nodeId = nodeIdOf(folder)
  const isolation = options.isolation ?? (await detectIsolation(join(folder, 'try'), 'detect'))
  const network =
    isolation.mode === 'paths' && choice === 'detect'
      ? new LoopbackNetwork(nodeId, isolation.reason)
      : await openNetwork({ nodeId, folder, choice, ipv6, provenIpv6, userNetwork, clock, log })
  log.info({ network: network.facts.message }, 'the network of Pods')
  const services =
    network instanceof BridgeNetwork ? bridgedServiceNetwork(network.ranges) : embeddedServiceNetwork(clusterId)
  return { isolation, network, services }
}

/** What the machine lacks to give Pods their own networks, for the person who starts the program. */
export function networkNotes(choice: NetworkChoice, facts: NetworkFacts): string[] {
  if (choice === 'loopback') return []
  if (!facts.ownNetworks) return [facts.message]
  return facts.rulesInForce ? [] : [facts.rulesMessage]
}
