import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { EventRecorder } from '../../cluster/event-recorder.ts'
import { ClusterIpProxy } from '../../exposure/cluster-ip/cluster-ip-proxy.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import { keyOf } from '../../resources/kubernetes-object.ts'
import { parseRange, placeIn } from '../../resources/address-range.ts'
import { isOfMachine } from '../../node/network/rules/machine-addresses.ts'
import type { PodNetwork } from '../../node/network/pod-network.ts'
import { apiServerService } from '../services/api-server-service.ts'
import { dnsService } from './dns-role.ts'
import { backgroundTask } from '../background-task.ts'
import type { ClusterCaches } from '../cluster-caches.ts'

/** Listens at the Services' own addresses, so that programs on this machine can connect to them there. */
export function clusterIpRole(options: {
  readonly client: ClusterClient
  readonly caches: ClusterCaches
  /** The range of Service addresses. This machine may listen on all of them. */
  readonly range: string
  readonly network: Pick<PodNetwork, 'leadsServices'>
  readonly clock: Clock
  readonly log: Logger
}): Component {
  const { client, caches, network, clock, log } = options
  const { services, slices } = caches
  const range = parseRange(options.range)
  const isLocal = (address: string) => range !== undefined && placeIn(range, address) !== undefined
  const events = new EventRecorder({ client, component: 'service-proxy', clock, log })
  return backgroundTask('service addresses', (signal) => {
    // The control plane and cluster DNS listen at the addresses of their Services themselves.
    const except = new Set([keyOf(apiServerService), keyOf(dnsService)])
    // The packet filter leads to Pods, but not to programs of this machine such as the gateway: the proxy does that.
    const isLedTo = (endpoint: string) => network.leadsServices && !isOfMachine(endpoint)
    const event = events.record.bind(events)
    return new ClusterIpProxy({ services, slices, except, isLocal, isLedTo, event, clock, log }).run(signal)
  })
}
