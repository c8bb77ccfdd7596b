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

/** Traffic that a policy allows. Allowances of all policies add up. */
export interface Allowance {
  /** The addresses it applies to, if not to all of the policy's Pods: a named port may be different in each. */
  readonly owners?: readonly string[]
  readonly peers: 'everyone' | readonly AddressSpan[]
  readonly ports: 'all' | readonly PortSpan[]
}

/** The effect of one policy in one direction: its Pods only have the traffic that some policy allows. */
export interface Isolation {
  /** The family of all its addresses. */
  readonly family: AddressFamily
  readonly key: string
  readonly direction: Direction
  /** The addresses of the Pods that the policy selects. */
  readonly owners: readonly string[]
  readonly allowances: readonly Allowance[]
}

export interface PolicySources {
  /** The family to plan for. Blocks of the other family allow nothing here. */
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
  /** The Pods found by each selector. */
  readonly pods: ReadonlyArray<readonly PolicyPod[]>
  readonly blocks: readonly AddressSpan[]
}

const everyPort = { first: 0, last: 65_535 }

/**
 * What the policies mean for the existing Pods. Pods that no policy selects, and directions that none covers, stay
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

/** Without `policyTypes` a policy covers ingress, and egress if it has egress rules. */
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

/** Named ports are looked up in the policy's own Pods. */
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

/** Named ports are looked up in the destination Pods, whether they match by label or by address block. */
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

/** The Pods that have a port of this name, grouped by its number. */
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

/**
 * By the list's identity: many policies have the same peers, and PodSearch returns the same list for the same selector.
 */
const knownAddresses = new WeakMap<readonly PolicyPod[], readonly AddressSpan[]>()

function addressesOf(pods: readonly PolicyPod[]): readonly AddressSpan[] {
  const known = knownAddresses.get(pods)
  if (known) return known
  const numbers = pods.map(({ address }) => parseAddress(address)?.value).filter((number) => number !== undefined)
  const spans = joinSpans(numbers.map((number) => ({ first: number, last: number })))
  knownAddresses.set(pods, spans)
  return spans
}
