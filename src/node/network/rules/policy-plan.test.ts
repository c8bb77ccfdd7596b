import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../../resources/network-policy.ts'
import { type AddressFamily, addressAt, parseAddress, parseRange, placeIn } from '../../../resources/address-range.ts'
import { holdsAddress } from './address-spans.ts'
import { type Direction, type Isolation, planPolicies } from './policy-plan.ts'
import type { Labels, PolicyPod } from './policy-pods.ts'

interface Packet {
  readonly from: string
  readonly to: string
  readonly protocol: string
  readonly port: number
}

/** Decides as the packet filter does with a plan. */
function planAllows(plan: readonly Isolation[], { from, to, protocol, port }: Packet): boolean {
  const passes = (direction: Direction, owner: string, peer: string) => {
    const isolating = plan.filter((each) => each.direction === direction && each.owners.includes(owner))
    return (
      isolating.length === 0 ||
      isolating.some(({ allowances }) =>
        allowances.some(
          ({ owners, peers, ports }) =>
            (owners === undefined || owners.includes(owner)) &&
            (peers === 'everyone' || holdsAddress(peers, parseAddress(peer)?.value ?? -1n)) &&
            (ports === 'all' ||
              ports.some((one) => one.protocol === protocol && one.first <= port && port <= one.last)),
        ),
      )
    )
  }
  return passes('egress', from, to) && passes('ingress', to, from)
}

/** Decides the same by the words of Kubernetes' documentation about policies. */
function documentationAllows(policies: readonly NetworkPolicy[], world: World, packet: Packet): boolean {
  const at = (address: string) => world.pods.find((pod) => pod.address === address)
  const [source, target] = [at(packet.from), at(packet.to)]
  const has = (wanted: Labels, labels: Labels) => Object.entries(wanted).every(([key, value]) => labels[key] === value)
  const isPeer = (namespace: string, address: string) => (peer: NetworkPolicyPeer) => {
    if (peer.ipBlock) {
      const inside = (text: string) => {
        const range = parseRange(text)
        return range !== undefined && placeIn(range, address) !== undefined
      }
      return inside(peer.ipBlock.cidr) && !(peer.ipBlock.except ?? []).some(inside)
    }
    const pod = at(address)
    if (!pod) return false
    const places = peer.namespaceSelector
      ? has(peer.namespaceSelector.matchLabels ?? {}, world.namespaces.get(pod.namespace) ?? {})
      : pod.namespace === namespace
    return places && has(peer.podSelector?.matchLabels ?? {}, pod.labels)
  }
  const isPort = ({ protocol = 'TCP', port, endPort }: NetworkPolicyPort) => {
    if (protocol.toLowerCase() !== packet.protocol) return false
    if (port === undefined) return true
    if (typeof port === 'number') return port <= packet.port && packet.port <= (endPort ?? port)
    return (target?.ports ?? []).some(
      (one) => one.name === port && one.protocol === packet.protocol && one.port === packet.port,
    )
  }
  const passes = (type: 'Ingress' | 'Egress', own: PolicyPod | undefined, other: string) => {
    const applying = policies.filter(({ metadata, spec }) => {
      const types = spec.policyTypes ?? (spec.egress?.length ? ['Ingress', 'Egress'] : ['Ingress'])
      const isOwn = own?.namespace === metadata.namespace && has(spec.podSelector?.matchLabels ?? {}, own?.labels ?? {})
      return isOwn && types.includes(type)
    })
    if (applying.length === 0) return true
    return applying.some(({ metadata, spec }) => {
      const rules =
        type === 'Ingress'
          ? (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
          : (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }))
      return rules.some(
        ({ peers = [], ports = [] }) =>
          (peers.length === 0 || peers.some(isPeer(metadata.namespace ?? '', other))) &&
          (ports.length === 0 || ports.some(isPort)),
      )
    })
  }
  return passes('Egress', source, packet.to) && passes('Ingress', target, packet.from)
}

interface World {
  readonly pods: readonly PolicyPod[]
  readonly namespaces: ReadonlyMap<string, Labels>
}

const policy = (spec: NetworkPolicy['spec'], namespace = 'team', name = 'policy'): NetworkPolicy => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name, namespace },
  spec,
})
const networks = { 4: '10.64.0.0/24', 6: 'fd00:64::/120' } as const
const addressOf = (number: number, family: AddressFamily) => {
  const network = parseRange(networks[family])
  return network ? addressAt(network, number) : ''
}
const podOf = (number: number, family: AddressFamily, labels: Labels, namespace = 'team', http = 80): PolicyPod => ({
  namespace,
  labels,
  address: addressOf(number, family),
  ports: [{ name: 'http', protocol: 'tcp', port: http }],
})
const namespaces = new Map<string, Labels>([
  ['team', { kind: 'mine' }],
  ['other', { kind: 'theirs' }],
])

describe.each([4, 6] as const)('planPolicies for IPv%d', (family) => {
  const wholeBits = family === 4 ? 32 : 128
  const at = (number: number) => addressOf(number, family)
  const pod = (number: number, labels: Labels, namespace?: string, http?: number) =>
    podOf(number, family, labels, namespace, http)
  const pods = [pod(2, { app: 'web' }), pod(3, { app: 'db' }, 'team', 8080), pod(4, { app: 'web' }, 'other')]
  const plan = (...policies: NetworkPolicy[]) => planPolicies({ family, policies, pods, namespaces })
  const may = (isolations: readonly Isolation[], from: number, to: number, port = 80, protocol = 'tcp') =>
    planAllows(isolations, { from: at(from), to: at(to), protocol, port })

  it('leaves Pods open that no policy selects', () => {
    expect(plan(policy({ podSelector: { matchLabels: { app: 'nobody' } } }))).toEqual([])
    const closed = plan(policy({ podSelector: { matchLabels: { app: 'db' } } }))
    expect([may(closed, 2, 3), may(closed, 3, 2), may(closed, 4, 2)]).toEqual([false, true, true])
  })

  it('is about egress only where a policy says so', () => {
    expect(plan(policy({ podSelector: {} })).map(({ direction }) => direction)).toEqual(['ingress'])
    const both = plan(policy({ podSelector: {}, egress: [{}] }))
    expect(both.map(({ direction }) => direction)).toEqual(['ingress', 'egress'])
    const none = plan(policy({ podSelector: {}, policyTypes: ['Egress'] }))
    expect([may(none, 2, 3), may(none, 4, 3)]).toEqual([false, true])
  })

  it('finds a named port in the Pod that is asked', () => {
    const into = plan(policy({ podSelector: {}, ingress: [{ ports: [{ port: 'http', protocol: 'TCP' }] }] }))
    expect([may(into, 4, 2, 80), may(into, 4, 2, 8080), may(into, 4, 3, 80), may(into, 4, 3, 8080)]).toEqual([
      true,
      false,
      false,
      true,
    ])
    const out = plan(policy({ podSelector: {}, policyTypes: ['Egress'], egress: [{ ports: [{ port: 'http' }] }] }))
    expect([may(out, 2, 3, 8080), may(out, 2, 3, 80), may(out, 2, 99, 80)]).toEqual([true, false, false])
  })

  it('allows what any of the policies allows', () => {
    const web = { podSelector: { matchLabels: { app: 'web' } } }
    const isolations = plan(
      policy({ podSelector: {}, ingress: [] }, 'team', 'closed'),
      policy({ podSelector: {}, ingress: [{ from: [web], ports: [{ port: 80 }] }] }, 'team', 'web'),
      policy(
        { podSelector: {}, ingress: [{ from: [{ ...web, namespaceSelector: {} }], ports: [{ port: 81 }] }] },
        'team',
        'all',
      ),
    )
    expect([may(isolations, 2, 3, 80), may(isolations, 4, 3, 80), may(isolations, 4, 3, 81)]).toEqual([
      true,
      false,
      true,
    ])
  })

  it('knows of blocks what they leave out, and nothing of the other family', () => {
    const ipBlock = { cidr: networks[family], except: [`${at(0)}/${wholeBits - 2}`, `${at(128)}/${wholeBits - 7}`] }
    const other = { ipBlock: { cidr: family === 4 ? '::/0' : '0.0.0.0/0' } }
    const isolations = plan(policy({ podSelector: {}, ingress: [{ from: [{ ipBlock }, other] }] }))
    expect([may(isolations, 2, 3), may(isolations, 4, 3), may(isolations, 9, 3)]).toEqual([false, true, true])
    const closed = plan(policy({ podSelector: {}, ingress: [{ from: [other] }] }))
    expect([may(closed, 2, 3), may(closed, 9, 3)]).toEqual([false, false])
  })

  it('says the same as the documentation of whatever policies there are', () => {
    const value = fc.constantFrom('x', 'y')
    const labels = fc.record({ a: value, b: value }, { requiredKeys: [] })
    const selector = labels.map((matchLabels) => ({ matchLabels }))
    const numbers = fc.constantFrom(2, 3, 4, 5, 6, 7, 200)
    const protocol = fc.constantFrom('TCP', 'UDP')
    const block = fc
      .record({ number: fc.integer({ min: 0, max: 255 }), bits: fc.integer({ min: 24, max: 31 }), more: fc.nat(255) })
      .map(({ number, bits, more }) => ({
        cidr: `${at(number)}/${bits + wholeBits - 32}`,
        except: [`${at((number & ~(2 ** (32 - bits) - 1)) | (more % 2 ** (32 - bits)))}/${wholeBits}`],
      }))
    const peer = fc.oneof<fc.Arbitrary<NetworkPolicyPeer>[]>(
      fc.record({ podSelector: selector }),
      fc.record({ namespaceSelector: selector }),
      fc.record({ namespaceSelector: selector, podSelector: selector }),
      fc.record({ ipBlock: block }),
    )
    const port = fc.oneof<fc.Arbitrary<NetworkPolicyPort>[]>(
      fc.record({ protocol }),
      fc.record({ protocol, port: fc.constantFrom('http', 'other') }),
      fc.record({ protocol, port: fc.integer({ min: 79, max: 83 }) }),
      fc.constant({ protocol: 'TCP', port: 80, endPort: 82 }),
    )
    const rule = fc.record({ peers: fc.array(peer, { maxLength: 3 }), ports: fc.array(port, { maxLength: 2 }) })
    const types = fc.constantFrom<(string[] | undefined)[]>(undefined, ['Ingress'], ['Egress'], ['Ingress', 'Egress'])
    const anyPolicy = fc
      .record({
        namespace: fc.constantFrom('one', 'two'),
        podSelector: selector,
        policyTypes: types,
        ingress: fc.array(rule, { maxLength: 2 }),
        egress: fc.array(rule, { maxLength: 2 }),
      })
      .map(({ namespace, podSelector, policyTypes, ingress, egress }) =>
        policy(
          {
            podSelector,
            policyTypes,
            ingress: ingress.map(({ peers, ports }) => ({ from: peers, ports })),
            egress: egress.map(({ peers, ports }) => ({ to: peers, ports })),
          },
          namespace,
        ),
      )
    const anyPods = fc.tuple(
      ...[2, 3, 4, 5, 6, 7].map((number) =>
        fc
          .record({ labels, namespace: fc.constantFrom('one', 'two'), http: fc.integer({ min: 80, max: 82 }) })
          .map((one) => pod(number, one.labels, one.namespace, one.http)),
      ),
    )
    const anyPacket = fc
      .tuple(numbers, numbers, fc.constantFrom('tcp', 'udp'), fc.integer({ min: 79, max: 83 }))
      .map(([from, to, kind, number]) => ({
        from: at(from),
        to: at(to),
        protocol: kind,
        port: number,
      }))
    let [allowed, refused] = [0, 0]
    fc.assert(
      fc.property(
        fc.array(anyPolicy, { maxLength: 4 }),
        anyPods,
        fc.record({ one: labels, two: labels }),
        fc.array(anyPacket, { minLength: 20, maxLength: 20 }),
        (policies, some, spaces, packets) => {
          const world = { pods: some, namespaces: new Map(Object.entries(spaces)) }
          const isolations = planPolicies({ family, policies, ...world })
          for (const packet of packets) {
            const expected = documentationAllows(policies, world, packet)
            expect({ packet, allowed: planAllows(isolations, packet) }).toEqual({ packet, allowed: expected })
            if (expected) allowed += 1
            else refused += 1
          }
        },
      ),
      { numRuns: 1000 },
    )
    // Otherwise the test would prove nothing.
    expect(Math.min(allowed, refused)).toBeGreaterThan(1000)
  })
})
