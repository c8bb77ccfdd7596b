import type { Pod } from '../../resources/pod.ts'

/** A Pod's place in the network. */
export interface PodPlace {
  readonly address: string
  /** The IPv6 address, if Pods have one. */
  readonly address6?: string | undefined
  /** The network namespace file of its containers; empty if they share the machine's network. */
  readonly namespace: string
}

export type Placement = PodPlace | { readonly refused: string }

/** What the network of this node can do. */
export interface NetworkFacts {
  /** Whether every Pod has its own network, with all ports free. */
  readonly ownNetworks: boolean
  readonly message: string
  /** Whether NetworkPolicies are enforced, Services are routed by the kernel, and Pods reach the outside. */
  readonly rulesInForce: boolean
  readonly rulesMessage: string
}

/** Enforces the network rules of Pods. */
export interface PodGuard {
  /** Why the rules are not in force, if they are not. */
  readonly problem: string | undefined
  /** A remark for the operator even though the rules are in force. */
  readonly remark: string | undefined
  /**
   * Resolves when the Pod may send its first packet. Throws if the rules cannot be made; then the Pod must not start.
   */
  admit(pod: Pod, address: string): Promise<void>
  forget(podUid: string): void
}

/**
 * Gives Pods their places in the network. A Pod keeps its place from its first container to its last, also across a
 * restart of this program.
 */
export interface PodNetwork {
  readonly facts: NetworkFacts
  /** The machine's address as Pods see it. */
  readonly hostIP: string
  /** The IPv6 address, if Pods have one. */
  readonly hostIP6?: string | undefined
  /**
   * Takes over the places of running Pods (addresses by uid) and removes everything else that former runs left. Call it
   * before anything is placed.
   */
  adopt(places: ReadonlyMap<string, string>): Promise<void>
  /** A place for the Pod, the same until it is released. `ports` are those it declares. */
  place(podUid: string, ports: readonly number[]): Promise<Placement>
  /** Resolves when the rules about the Pod are in force; only then may it start. Throws if they cannot be. */
  admit(pod: Pod, place: PodPlace): Promise<void>
  of(podUid: string): PodPlace | undefined
  release(podUid: string): void
  /** The namespace of the next Pod, if known, so that things can be prepared in it. */
  readonly nextNamespace: string | undefined
  /** Calls the listener whenever `nextNamespace` changes. Returns how to unsubscribe. */
  onNextNamespace(listener: () => void): () => void
  /** Whether the kernel routes Service addresses to Pods, so that no proxy has to listen there. */
  readonly leadsServices: boolean
  /** Whether any Pod has a place at the moment. */
  readonly isInUse: boolean
  /** Removes what no Pod uses. */
  close(): Promise<void>
}
