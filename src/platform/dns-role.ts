import type { ClusterClient } from '../cluster/cluster-client.ts'
import { EventRecorder } from '../cluster/event-recorder.ts'
import { ClusterIndex } from '../dns/cluster-index.ts'
import { ClusterNames } from '../dns/cluster-names.ts'
import { DnsMetrics } from '../dns/dns-metrics.ts'
import { DnsServer } from '../dns/dns-server.ts'
import { ResolversFile } from '../dns/resolvers-file.ts'
import type { Clock } from '../foundation/clock.ts'
import { errorMessage } from '../foundation/errors.ts'
import type { Component } from '../foundation/lifecycle.ts'
import type { Logger } from '../foundation/log.ts'
import type { Metrics } from '../foundation/metrics.ts'
import { serviceKind } from '../resources/service.ts'
import type { DnsCaches } from './cluster-caches.ts'

export const clusterDomain = 'cluster.local'

/** The Service by which every cluster knows its DNS server. */
export const dnsService = { namespace: 'kube-system', name: 'kube-dns' }

const port = 53

export interface DnsRoleOptions {
  readonly client: ClusterClient
  readonly caches: DnsCaches
  /** Its cluster IP, which is an address of this machine; without one there are no names. */
  readonly address: string | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** Answers the names of Services and Pods, for Pods with networks of their own. */
export function dnsRole({ client, caches, address, clock, log, metrics }: DnsRoleOptions): Component {
  const dnsMetrics = new DnsMetrics(metrics)
  let server: DnsServer | undefined
  let index: ClusterIndex | undefined
  return {
    name: 'cluster DNS',
    async start() {
      await recordService(client, address)
      if (address === undefined) return
      index = new ClusterIndex(caches, clock)
      const names = new ClusterNames({
        clusterDomain,
        index,
        serverService: dnsService,
        serverAddresses: () => [address],
      })
      const resolvers = new ResolversFile(clock)
      const upstreams = () => resolvers.upstreams()
      server = new DnsServer({ names, upstreams, clock, log, metrics: dnsMetrics })
      try {
        await server.listen(address, port)
      } catch (error) {
        // A DNS server of the machine that listens on all of its addresses, for example: Pods run without names then.
        log.warn({ err: error, address, port }, 'cluster DNS cannot listen')
        const message = `Names of Services are not answered, because ${address}:${port} cannot be listened on: ${errorMessage(error)}`
        const service = await client.get(serviceKind, dnsService)
        const events = new EventRecorder({ client, component: 'cluster-dns', clock, log })
        if (service) events.record(service, 'Warning', 'DNSUnreachable', message)
      }
    },
    async stop() {
      await server?.close()
      index?.close()
    },
  }
}

/** The Service is there exactly when somebody answers at it. */
async function recordService(client: ClusterClient, clusterIP: string | undefined): Promise<void> {
  const there = await client.get(serviceKind, dnsService)
  if (there?.spec.clusterIP === clusterIP) return
  // An address never changes: one of another range goes with its Service.
  if (there) await client.delete(serviceKind, dnsService)
  if (clusterIP === undefined) return
  const ports = [
    { name: 'dns', protocol: 'UDP', port, targetPort: port },
    { name: 'dns-tcp', protocol: 'TCP', port, targetPort: port },
  ]
  const labels = { 'k8s-app': 'kube-dns', 'kubernetes.io/name': 'CoreDNS' }
  const spec = { type: 'ClusterIP', clusterIP, ports }
  await client.create(serviceKind, { metadata: { ...dnsService, labels }, spec })
}
