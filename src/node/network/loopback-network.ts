import { holdFreeAddress } from './free-address.ts'
import { PodAddresses, addressSeed } from './pod-addresses.ts'
import type { NetworkFacts, Placement, PodNetwork, PodPlace } from './pod-network.ts'

/** The network without namespaces: Pods share the machine's network, and each has its own loopback address. */
export class LoopbackNetwork implements PodNetwork {
  readonly facts: NetworkFacts
  readonly hostIP = '127.0.0.1'
  readonly nextNamespace = ''
  readonly leadsServices = false
  readonly #addresses: PodAddresses

  /**
   * `owner` seeds the first address, so that two nodes on one machine rarely collide; `reason` says why there is no
   * better network.
   */
  constructor(owner: string, reason: string) {
    this.#addresses = new PodAddresses(addressSeed(owner))
    const message =
      'Every Pod has a loopback address of its own in the network of the machine: a program that listens on all addresses ' +
      `has its port for itself on the whole machine, and Pods are not kept apart (${reason}).`
    const rulesMessage = 'Pods in the network of the machine are not kept apart: NetworkPolicies have no effect.'
    this.facts = { ownNetworks: false, message, rulesInForce: false, rulesMessage }
  }

  async adopt(places: ReadonlyMap<string, string>): Promise<void> {
    for (const [podUid, address] of places) this.#addresses.hold(podUid, address)
  }

  async place(podUid: string, ports: readonly number[]): Promise<Placement> {
    const held = await holdFreeAddress(this.#addresses, podUid, ports)
    return 'refused' in held ? held : { address: held.address, namespace: '' }
  }

  get isInUse(): boolean {
    return this.#addresses.isInUse
  }

  /** The namespace never changes. */
  onNextNamespace(): () => void {
    return () => {}
  }

  async admit(): Promise<void> {}

  of(podUid: string): PodPlace | undefined {
    const address = this.#addresses.of(podUid)
    return address === undefined ? undefined : { address, namespace: '' }
  }

  release(podUid: string): void {
    this.#addresses.release(podUid)
  }

  async close(): Promise<void> {}
}
