import { formatAddress, formatRange } from './address-range.ts'
import type { ClusterRanges } from './choose-ranges.ts'
import type { HostPort } from './host-ports.ts'
import type { Isolation } from './policy-plan.ts'
import { addPolicies } from './policy-rules.ts'
import { TableBuilder, type TableParts } from './rule-text.ts'
import type { ServicePlan } from './service-plan.ts'
import { addHostPorts, addLocalServices, addServices } from './service-rules.ts'

/** Everything that the machine's packet filter must know of this node. */
export interface NodeRules {
  readonly ranges: ClusterRanges
  /** How the names of the Pods' cables begin, on the machine's side. */
  readonly cables: string
  /** Addresses of the Pods that are somebody's endpoint. */
  readonly pods: readonly string[]
  readonly isolations: readonly Isolation[]
  readonly services: ServicePlan
  readonly hostPorts: readonly HostPort[]
}

/**
 * The table of this node. Who sends is judged first (`guard`), then where it goes is decided (`from_pods`, `from_machine`), then
 * whether it may go there, by the addresses that it really goes between (`egress_*`, `ingress_*`): what one of these accepts, the next
 * still judges. Answers to what was let through are let through.
 */
export function ruleTable(rules: NodeRules): TableParts {
  const table = new TableBuilder()
  const { ranges, cables, isolations, services, hostPorts } = rules
  const [pods, addresses] = [formatRange(ranges.pods), formatRange(ranges.services)]
  const [fromPod, toPod] = [`iifname "${cables}*"`, `oifname "${cables}*"`]
  const fromOutside = `iifname != "${cables}*" iifname != "lo"`
  const known = 'ct state established,related accept'
  const machine = formatAddress(ranges.pods.first + 1)
  const self = table.set('self', {
    kind: 'set',
    type: 'ipv4_addr . ipv4_addr',
    elements: [...new Set(rules.pods)].map((address) => `${address} . ${address}`),
  })
  const routes = addServices(table, services.routes)
  const local = addLocalServices(table, services.local)
  const ports = addHostPorts(table, hostPorts)
  const [egress, ingress] = [addPolicies(table, isolations, 'egress'), addPolicies(table, isolations, 'ingress')]
  const place = 'ip daddr . meta l4proto . th dport'
  const toMachine = [
    `${place} vmap @${ports.one}`,
    `ip daddr != ${addresses} fib daddr type local meta l4proto . th dport vmap @${ports.all}`,
  ]
  const selfOrKnown = [known, `ip saddr . ip daddr @${self} accept`]

  // Every packet of the machine comes by here: the fewest questions for the most of them.
  table.chain('guard', [
    'type filter hook prerouting priority raw; policy accept;',
    `${fromPod} goto guard_pods`,
    'iifname "lo" accept',
    // These addresses are nobody's but this machine's and its Pods'.
    `ip saddr ${pods} drop`,
    `ip daddr ${addresses} drop`,
  ])
  table.chain('guard_pods', [
    // Pods have no IPv6 yet: not even from cable to machine.
    'meta nfproto ipv6 drop',
    // The cable of a Pod with ports of the machine carries answers to its loopback, and nothing else may come to that by it.
    'ip daddr 127.0.0.0/8 drop',
    // A Pod sends from its own address: the one that the machine would answer by the same cable.
    'fib saddr . iif oif missing drop',
  ])
  table.chain('from_pods', [
    'type nat hook prerouting priority dstnat; policy accept;',
    `${fromPod} ${place} vmap @${routes}`,
    ...toMachine,
  ])
  table.chain('from_machine', [
    'type nat hook output priority -100; policy accept;',
    `${place} vmap @${routes}`,
    ...toMachine,
  ])
  table.chain('egress_forward', [
    'type filter hook forward priority filter - 5; policy accept;',
    ...selfOrKnown,
    `${fromPod} ct state invalid drop`,
    `${fromPod} ip saddr vmap @${egress}`,
  ])
  table.chain('ingress_forward', [
    'type filter hook forward priority filter; policy accept;',
    ...selfOrKnown,
    // From outside only what a port of the machine leads to.
    `${fromOutside} ${toPod} ct status & dnat != dnat drop`,
    `${toPod} ip daddr vmap @${ingress}`,
  ])
  table.chain('egress_input', [
    'type filter hook input priority filter - 5; policy accept;',
    known,
    `${fromPod} ip saddr vmap @${egress}`,
  ])
  table.chain('service_input', [
    'type filter hook input priority filter; policy accept;',
    `ip daddr ${addresses} goto service_ports`,
  ])
  // Every address of the Services is the machine's: without this, whatever listens on all of its addresses would answer there.
  table.chain('service_ports', [
    known,
    `${place} @${local} accept`,
    'meta l4proto tcp reject with tcp reset',
    'meta l4proto { udp, sctp } reject',
  ])
  table.chain('source', [
    'type nat hook postrouting priority srcnat; policy accept;',
    // Who comes to itself by way of a Service must not see itself as the sender: it would answer itself.
    `ip saddr . ip daddr @${self} snat ip to ${machine} fully-random`,
    // Nor must who comes to a port of the machine by its loopback: a Pod's answer to that would stay within it.
    `ip saddr 127.0.0.0/8 ${toPod} snat ip to ${machine} fully-random`,
    `ip saddr ${pods} oifname != "lo" oifname != "${cables}*" masquerade fully-random`,
  ])
  return table
}
