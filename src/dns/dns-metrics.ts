import { Metrics } from '../foundation/metrics.ts'

export class DnsMetrics {
  readonly queries
  readonly forwardSeconds
  readonly forwarded
  readonly connections

  constructor(metrics: Metrics = new Metrics()) {
    this.queries = metrics.heldCounter(
      'sluice_dns_queries_total',
      'Queries to the cluster DNS server, by type and by the code they were answered with.',
      ['type', 'rcode'],
    )
    this.forwardSeconds = metrics.histogram(
      'sluice_dns_forward_seconds',
      'How long the resolvers of the machine took for a question.',
      [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
    )
    this.forwarded = metrics.heldCounter(
      'sluice_dns_forwarded_total',
      'Questions about names elsewhere: answered or failed by a resolver of the machine, cached, joined to the same one under way, or refused because too many were.',
      ['result'],
    )
    this.connections = metrics.gauge('sluice_dns_tcp_connections', 'Connections to the cluster DNS server.')
  }
}
