import { addressAt, formatRange } from '../../../resources/address-range.ts'
import type { FamilyRanges } from '../choose-ranges.ts'
import { type FamilyWords, wordsFor } from './family-words.ts'
import { addForwarded } from './forwarded-rules.ts'
import type { HostPort } from '../host-ports.ts'
import type { Isolation } from './policy-plan.ts'
import { addPolicies } from './policy-rules.ts'
import { TableBuilder, type TableParts } from './rule-text.ts'
import type { ServicePlan } from './service-plan.ts'
import { addHostPorts, addLocalServices, addServices } from './service-rules.ts'

/** Everything the packet filter must know about this node. */
export interface NodeRules {
  /** How the names of the Pods' cables begin, on the machine's side. */
  readonly cables: string
  /**
   * Whether this is the network of an ordinary user: the way out is pasta's, of which some versions send segments that
   * make a kernel which leads on end the connection, and the way in is by programs.
   */
  readonly byPasta?: boolean | undefined
  /** IPv4, and IPv6 where Pods have it. */
  readonly families: readonly FamilyRules[]
}

/** The rules for one address family. */
export interface FamilyRules {
  readonly ranges: FamilyRanges
  /** Addresses of the Pods. */
  readonly pods: readonly string[]
  readonly isolations: readonly Isolation[]
  readonly services: ServicePlan
  readonly hostPorts: readonly HostPort[]
}

/**
 * The table of this node. Who sends is judged first (`guard`), then where it goes is decided (`from_pods`,
 * `from_machine`), then whether it may go there, by the addresses that it really goes between (`egress_*`,
 * `ingress_*`): what one of these accepts, the next still judges. Answers to what was let through are let through.
 */
export function ruleTable({ cables, families, byPasta }: NodeRules): TableParts {
  const table = new TableBuilder()
  const [fromPod, toPod] = [`iifname "${cables}*"`, `oifname "${cables}*"`]
  const fromOutside = `iifname != "${cables}*" iifname != "lo"`
  const known = 'ct state established,related accept'
  const lines = families.map((rules) => familyLines(table, rules, cables))
  const each = (of: (one: FamilyLines) => readonly string[]) => lines.flatMap(of)
  const selfOrKnown = [known, ...each(({ self }) => [`${self} accept`])]
  const egress = each((one) => [`${fromPod} ${one.egress}`])

  // Every packet of the machine passes here, so the common cases come first.
  table.chain('guard', [
    'type filter hook prerouting priority raw; policy accept;',
    `${fromPod} goto guard_pods`,
    'iifname "lo" accept',
    // To who was led here they belong to no connection, and would be answered with a reset.
    ...(byPasta ? ['tcp flags & (fin | syn | rst | ack) == 0 drop'] : []),
    // These addresses are nobody's but this machine's and its Pods'.
    ...each(({ foreign }) => foreign),
  ])
  table.chain('guard_pods', [
    ...ipv6Guard(lines),
    // Devices of Pods with host ports allow loopback addresses, for replies only.
    'ip daddr 127.0.0.0/8 drop',
    // A Pod may only send from its own address: the one the machine would reach through the same device.
    'fib saddr . iif oif missing drop',
  ])
  table.chain('from_pods', [
    'type nat hook prerouting priority dstnat; policy accept;',
    ...each(({ toService }) => [`${fromPod} ${toService}`]),
    ...each(({ toMachine }) => toMachine),
  ])
  table.chain('from_machine', [
    'type nat hook output priority -100; policy accept;',
    ...each(({ toService }) => [toService]),
    ...each(({ toMachine }) => toMachine),
  ])
  table.chain('egress_forward', [
    'type filter hook forward priority filter - 5; policy accept;',
    ...selfOrKnown,
    `${fromPod} ct state invalid drop`,
    ...egress,
  ])
  table.chain('ingress_forward', [
    'type filter hook forward priority filter; policy accept;',
    ...selfOrKnown,
    // From outside, only traffic to host ports is let in.
    `${fromOutside} ${toPod} ct status & dnat != dnat drop`,
    ...each(({ words, toOthers, ingress }) => [
      // A Pod from before a change of ranges could still have an old address, which no policy covers.
      ...(words.family === 6 ? [`${toPod} ${toOthers} drop`] : []),
      `${toPod} ${ingress}`,
    ]),
  ])
  table.chain('egress_input', ['type filter hook input priority filter - 5; policy accept;', known, ...egress])
  table.chain('service_input', [
    'type filter hook input priority filter; policy accept;',
    ...each(({ toServices }) => [`${toServices} goto service_ports`]),
  ])
  // Service addresses are local to the machine: without this, any program listening on all addresses would answer
  // there.
  table.chain('service_ports', [
    known,
    ...each(({ isServedHere }) => [`${isServedHere} accept`]),
    'meta l4proto tcp reject with tcp reset',
    'meta l4proto { udp, sctp } reject',
  ])
  table.chain('source', ['type nat hook postrouting priority srcnat; policy accept;', ...each(({ source }) => source)])
  if (byPasta)
    addForwarded(
      table,
      cables,
      lines.map(({ words, own, ingress }) => ({ match: words.match, own, ingress })),
    )
  return table
}

/**
 * Drops neighbour and router messages from Pods: the machine and the Pod have fixed neighbour entries for each other,
 * so nobody can claim another's address or pose as a router.
 */
function ipv6Guard(lines: readonly FamilyLines[]): string[] {
  const ipv6 = lines.find(({ words }) => words.family === 6)
  if (!ipv6) return ['meta nfproto ipv6 drop']
  return [
    'icmpv6 type { nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert, nd-redirect } drop',
    'ip6 daddr { ::1, fe80::/10, ff00::/8 } drop',
    `${ipv6.fromOthers} drop`,
  ]
}

/** The lines that one family adds to the chains. */
interface FamilyLines {
  readonly words: FamilyWords
  /** Ranges of addresses that are nobody's but this machine's and its Pods'. */
  readonly own: readonly string[]
  readonly foreign: readonly string[]
  /** Matches senders whose address is no Pod's. */
  readonly fromOthers: string
  readonly toOthers: string
  readonly self: string
  readonly toService: string
  readonly toMachine: readonly string[]
  readonly toServices: string
  readonly isServedHere: string
  readonly egress: string
  readonly ingress: string
  readonly source: readonly string[]
}

function familyLines(table: TableBuilder, rules: FamilyRules, cables: string): FamilyLines {
  const { ranges, isolations, services, hostPorts } = rules
  const words = wordsFor[ranges.pods.family]
  const { match } = words
  const [pods, addresses] = [formatRange(ranges.pods), formatRange(ranges.services)]
  const known = table.set(words.nameOf('self'), {
    kind: 'set',
    type: `${words.type} . ${words.type}`,
    elements: [...new Set(rules.pods)].map((address) => `${address} . ${address}`),
  })
  const ports = addHostPorts(table, words, hostPorts)
  const place = `${match} daddr . meta l4proto . th dport`
  const self = `${match} saddr . ${match} daddr @${known}`
  // No kernel routes packets from the IPv6 loopback elsewhere.
  const notFrom = words.family === 6 ? `${match} daddr != ::1 ` : ''
  return {
    words,
    own: [pods, addresses],
    foreign: [`${match} saddr ${pods} drop`, `${match} daddr ${addresses} drop`],
    fromOthers: `${match} saddr != ${pods}`,
    toOthers: `${match} daddr != ${pods}`,
    self,
    toService: `${place} vmap @${addServices(table, words, services.routes)}`,
    toMachine: [
      `${place} vmap @${ports.one}`,
      `${match} daddr != ${addresses} ${notFrom}fib daddr type local meta l4proto . th dport vmap @${ports.all}`,
    ],
    toServices: `${match} daddr ${addresses}`,
    isServedHere: `${place} @${addLocalServices(table, words, services.local)}`,
    egress: `${match} saddr vmap @${addPolicies(table, words, isolations, 'egress')}`,
    ingress: `${match} daddr vmap @${addPolicies(table, words, isolations, 'ingress')}`,
    source: sourceLines(words, ranges, self, cables),
  }
}

function sourceLines({ family, match }: FamilyWords, ranges: FamilyRanges, self: string, cables: string): string[] {
  const asMachine = `snat ${match} to ${addressAt(ranges.pods, 1)} fully-random`
  const outward = `${match} saddr ${formatRange(ranges.pods)} oifname != "lo" oifname != "${cables}*"`
  return [
    // A Pod that reaches itself through a Service must not see itself as the sender, or it would answer directly.
    `${self} ${asMachine}`,
    // The same for host ports reached from the machine's loopback: the Pod's answer would never leave it.
    ...(family === 4 ? [`ip saddr 127.0.0.0/8 oifname "${cables}*" ${asMachine}`] : []),
    `${outward} masquerade fully-random`,
  ]
}
