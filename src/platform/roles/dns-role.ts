import type { ClusterClient } from '../../cluster/cluster-client.ts'
import { EventRecorder } from '../../cluster/event-recorder.ts'
import { ClusterIndex } from '../../dns/names/cluster-index.ts'
import { ClusterNames } from '../../dns/names/cluster-names.ts'
import { DnsMetrics } from '../../dns/dns-metrics.ts'
import { DnsServer } from '../../dns/dns-server.ts'
import { ListenInTime } from '../../dns/listening/listen-in-time.ts'
import { ResolversFile } from '../../dns/forwarding/resolvers-file.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Component } from '../../foundation/lifecycle.ts'
import type { Logger } from '../../foundation/log.ts'
import type { Metrics } from '../../foundation/metrics.ts'
import { serviceKind } from '../../resources/service.ts'
import type { DnsCaches } from '../cluster-caches.ts'

export const clusterDomain = 'cluster.local'

/** The DNS server's Service, named as in every Kubernetes cluster. */
export const dnsService = { namespace: 'kube-system', name: 'kube-dns' }

const port = 53

export interface DnsRoleOptions {
  readonly client: ClusterClient
  readonly caches: DnsCaches
  /** The Service's address, which belongs to this machine. Without one there is no cluster DNS. */
  readonly address: string | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** Cluster DNS: answers for the names of Services and Pods. Pods that have their own network ask it. */
export function dnsRole({ client, caches, address, clock, log, metrics }: DnsRoleOptions): Component {
  const dnsMetrics = new DnsMetrics(metrics)
  let server: DnsServer | undefined
  let listening: ListenInTime | undefined
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
      const dns = new DnsServer({ names, upstreams, clock, log, metrics: dnsMetrics })
      server = dns
      const service = await client.get(serviceKind, dnsService)
      const events = new EventRecorder({ client, component: 'cluster-dns', clock, log })
      listening = new ListenInTime({
        address,
        port,
        listen: (host, at) => dns.listen(host, at),
        tell({ listens, message }) {
          if (!service) return
          if (listens) events.record(service, 'Normal', 'DNSReachable', message)
          else events.record(service, 'Warning', 'DNSUnreachable', message)
        },
        clock,
        log,
      })
      await listening.start()
    },
    async stop() {
      await listening?.close()
      await server?.close()
      index?.close()
    },
  }
}

/** Creates the Service if there is a DNS server behind it, and deletes it if there is none. */
async function recordService(client: ClusterClient, clusterIP: string | undefined): Promise<void> {
  const there = await client.get(serviceKind, dnsService)
  if (there?.spec.clusterIP === clusterIP) return
  // A Service's address cannot change, so one from another range is replaced together with its Service.
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
