import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../../resources/network-policy.ts'
import { keyOf, refOf } from '../../../resources/kubernetes-object.ts'
import { type AddressFamily, parseAddress, parseRange } from '../../../resources/address-range.ts'
import { type AddressSpan, holdsAddress, joinSpans, leaveOut, spanOf } from './address-spans.ts'
import { type Labels, type PolicyPod, type PortProtocol, PodSearch, portProtocolOf } from './policy-pods.ts'

export type Direction = 'ingress' | 'egress'

export interface PortSpan {
  readonly protocol: PortProtocol
  readonly first: number
  readonly last: number
}

/** What a policy lets through, beside everything else that it or another one does. */
export interface Allowance {
  /** The Pods of the policy that it is for, where it is not for all of them: a named port is another one in each. */
  readonly owners?: readonly string[]
  readonly peers: 'everyone' | readonly AddressSpan[]
  readonly ports: 'all' | readonly PortSpan[]
}

/** What one policy does in one direction: its Pods have no traffic there but what some policy allows. */
export interface Isolation {
  /** Of its addresses, all of them. */
  readonly family: AddressFamily
  readonly key: string
  readonly direction: Direction
  /** Addresses of the Pods. */
  readonly owners: readonly string[]
  readonly allowances: readonly Allowance[]
}

export interface PolicySources {
  /** Of the Pods' addresses. What a policy says of the other family is for another plan, and lets nobody in here. */
  readonly family: AddressFamily
  readonly policies: readonly NetworkPolicy[]
  readonly pods: readonly PolicyPod[]
  /** The labels of each namespace. */
  readonly namespaces: ReadonlyMap<string, Labels>
}

interface Rule {
  readonly peers: readonly NetworkPolicyPeer[]
  readonly ports: readonly NetworkPolicyPort[]
}

interface Peers {
  readonly everyone: boolean
  /** As they were found, by each of the selectors. */
  readonly pods: ReadonlyArray<readonly PolicyPod[]>
  readonly blocks: readonly AddressSpan[]
}

const everyPort = { first: 0, last: 65_535 }

/**
 * What the policies mean for the Pods that there are. Pods that none selects, and directions that none is about, are
 * open.
 */
export function planPolicies({ family, policies, pods, namespaces }: PolicySources): Isolation[] {
  if (policies.length === 0) return []
  const search = new PodSearch(family, pods, namespaces)
  return policies.flatMap((policy) => {
    const owners = search.inNamespace(policy.metadata.namespace ?? '', policy.spec.podSelector ?? {})
    if (owners.length === 0) return []
    return directionsOf(policy).map((direction) => isolationOf(policy, direction, owners, search))
  })
}

/** A policy that does not say is about ingress, and about egress if it has rules for it. */
function directionsOf({ spec }: NetworkPolicy): Direction[] {
  const types = spec.policyTypes ?? []
  const isAbout = (type: string, unsaid: boolean) => (types.length === 0 ? unsaid : types.includes(type))
  const directions: Direction[] = []
  if (isAbout('Ingress', true)) directions.push('ingress')
  if (isAbout('Egress', (spec.egress ?? []).length > 0)) directions.push('egress')
  return directions
}

function isolationOf(
  policy: NetworkPolicy,
  direction: Direction,
  owners: readonly PolicyPod[],
  search: PodSearch,
): Isolation {
  const namespace = policy.metadata.namespace ?? ''
  const { ingress = [], egress = [] } = policy.spec
  const rules: Rule[] =
    direction === 'ingress'
      ? ingress.map(({ from = [], ports = [] }) => ({ peers: from, ports }))
      : egress.map(({ to = [], ports = [] }) => ({ peers: to, ports }))
  const allowances = rules.flatMap(({ peers, ports }) => {
    const found = peersOf(peers, namespace, search)
    return direction === 'ingress' ? ingressOf(found, ports, owners) : egressOf(found, ports, search)
  })
  const { family } = search
  return { family, key: keyOf(refOf(policy)), direction, owners: owners.map(({ address }) => address), allowances }
}

function peersOf(peers: readonly NetworkPolicyPeer[], namespace: string, search: PodSearch): Peers {
  if (peers.length === 0) return { everyone: true, pods: [search.all], blocks: [] }
  const pods = peers.flatMap(({ podSelector, namespaceSelector, ipBlock }) => {
    if (ipBlock) return []
    if (namespaceSelector) return [search.inNamespaces(namespaceSelector, podSelector ?? {})]
    return podSelector ? [search.inNamespace(namespace, podSelector)] : []
  })
  const blocks = peers.flatMap(({ ipBlock }) =>
    ipBlock ? blockOf(search.family, ipBlock.cidr, ipBlock.except ?? []) : [],
  )
  return { everyone: false, pods, blocks }
}

function blockOf(family: AddressFamily, text: string, exceptions: readonly string[]): AddressSpan[] {
  const range = parseRange(text)
  if (range?.family !== family) return []
  const excepted = exceptions.map((each) => parseRange(each)).filter((each) => each !== undefined)
  return leaveOut(spanOf(range), excepted.map(spanOf))
}

/** A named port is that of the policy's own Pod. */
function ingressOf(peers: Peers, ports: readonly NetworkPolicyPort[], owners: readonly PolicyPod[]): Allowance[] {
  const whom = spansOf(peers)
  if (ports.length === 0) return [{ peers: whom, ports: 'all' }]
  const named = ports.flatMap((port) =>
    holdersOf(port, owners).map(([span, pods]) => ({
      owners: pods.map(({ address }) => address),
      peers: whom,
      ports: [span],
    })),
  )
  return [...numbered(whom, ports), ...named]
}

/** A named port is that of whom it leads to: of a Pod, be it named by its labels or by its address. */
function egressOf(peers: Peers, ports: readonly NetworkPolicyPort[], search: PodSearch): Allowance[] {
  const whom = spansOf(peers)
  if (ports.length === 0) return [{ peers: whom, ports: 'all' }]
  const inBlocks = peers.blocks.length === 0 ? [] : search.all.filter((pod) => isWithin(peers.blocks, pod))
  const named = ports.flatMap((port) =>
    holdersOf(port, [...peers.pods.flat(), ...inBlocks]).map(([span, pods]) => ({
      peers: addressesOf(pods),
      ports: [span],
    })),
  )
  return [...numbered(whom, ports), ...named]
}

function isWithin(spans: readonly AddressSpan[], { address }: PolicyPod): boolean {
  return holdsAddress(spans, parseAddress(address)?.value ?? -1n)
}

function numbered(peers: Allowance['peers'], ports: readonly NetworkPolicyPort[]): Allowance[] {
  const spans = ports.flatMap(({ protocol, port, endPort }): PortSpan[] => {
    const known = portProtocolOf(protocol ?? 'TCP')
    if (known === undefined || typeof port === 'string') return []
    return [{ protocol: known, ...(port === undefined ? everyPort : { first: port, last: endPort ?? port }) }]
  })
  return spans.length === 0 ? [] : [{ peers, ports: spans }]
}

/** Who has a port of this name, by what it is for them. */
function holdersOf(
  { protocol = 'TCP', port }: NetworkPolicyPort,
  pods: readonly PolicyPod[],
): Array<[PortSpan, PolicyPod[]]> {
  const known = portProtocolOf(protocol)
  if (known === undefined || typeof port !== 'string') return []
  const byNumber = new Map<number, Set<PolicyPod>>()
  for (const pod of pods) {
    for (const one of pod.ports) {
      if (one.name !== port || one.protocol !== known) continue
      const holders = byNumber.get(one.port) ?? new Set()
      byNumber.set(one.port, holders.add(pod))
    }
  }
  return [...byNumber].map(([number, holders]) => [{ protocol: known, first: number, last: number }, [...holders]])
}

function spansOf({ everyone, pods, blocks }: Peers): Allowance['peers'] {
  if (everyone) return 'everyone'
  const [only] = pods
  if (only && pods.length === 1 && blocks.length === 0) return addressesOf(only)
  return joinSpans([...pods.flatMap(addressesOf), ...blocks])
}

/** The same Pods are the peers of many policies, and what was found once is found again as the same list. */
const knownAddresses = new WeakMap<readonly PolicyPod[], readonly AddressSpan[]>()

function addressesOf(pods: readonly PolicyPod[]): readonly AddressSpan[] {
  const known = knownAddresses.get(pods)
  if (known) return known
  const numbers = pods.map(({ address }) => parseAddress(address)?.value).filter((number) => number !== undefined)
  const spans = joinSpans(numbers.map((number) => ({ first: number, last: number })))
  knownAddresses.set(pods, spans)
  return spans
}
