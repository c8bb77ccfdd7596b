import type { Pod } from '../../resources/pod.ts'

/** Where a Pod is in the network. */
export interface PodPlace {
  readonly address: string
  /** Of IPv6, where Pods have one. */
  readonly address6?: string | undefined
  /** The file of the network namespace that all its containers run in; empty where they share the machine's. */
  readonly namespace: string
}

export type Placement = PodPlace | { readonly refused: string }

/** What the network of this node's Pods promises, and what it does not. */
export interface NetworkFacts {
  /** Whether every Pod has a network of its own, with all ports free. */
  readonly ownNetworks: boolean
  readonly message: string
  /**
   * Whether NetworkPolicies are kept, Services lead to Pods in the kernel, and Pods reach what is outside of the
   * machine.
   */
  readonly rulesInForce: boolean
  readonly rulesMessage: string
}

/** Who keeps the machine's rules for Pods. */
export interface PodGuard {
  /** Why the rules are not what they should be, if they are not. */
  readonly problem: string | undefined
  /** What people should know though they are. */
  readonly remark: string | undefined
  /**
   * Done when the Pod may send its first packet. Throws where the rules cannot be made: then it must not be started.
   */
  admit(pod: Pod, address: string): Promise<void>
  forget(podUid: string): void
}

/**
 * Gives Pods their places in the network. A Pod has one from its first container to its last, also while this program
 * restarts.
 */
export interface PodNetwork {
  readonly facts: NetworkFacts
  /** The address by which Pods know the machine. */
  readonly hostIP: string
  /** Of IPv6, where Pods have one. */
  readonly hostIP6?: string | undefined
  /**
   * What Pods that were found running have; everything else that former runs left goes. To be called before anything is
   * placed.
   */
  adopt(places: ReadonlyMap<string, string>): Promise<void>
  /** The Pod's place; the same each time until it is let go. `ports` are those it says it listens on. */
  place(podUid: string, ports: readonly number[]): Promise<Placement>
  /**
   * To be waited for before anything of the Pod runs: the rules that concern it are in force. Throws where they cannot
   * be.
   */
  admit(pod: Pod, place: PodPlace): Promise<void>
  of(podUid: string): PodPlace | undefined
  release(podUid: string): void
  /** The namespace of the Pod that is placed next, once that is known: things may be made ready in it. */
  readonly nextNamespace: string | undefined
  /** Told each time that it has become another one, until the function that it returns is called. */
  onNextNamespace(listener: () => void): () => void
  /** Whether the kernel leads from the addresses of Services to Pods, so that nobody has to listen there for them. */
  readonly leadsServices: boolean
  /** Whether any Pod has a place. */
  readonly isInUse: boolean
  /** Takes away what no Pod uses any more. */
  close(): Promise<void>
}
