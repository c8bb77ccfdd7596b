import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import { nodeKind } from '../../resources/node.ts'
import { type Pod, podKind } from '../../resources/pod.ts'
import { isStatusError } from '../../resources/status-error.ts'
import { CardLedger } from '../cards/card-ledger.ts'
import type { MachineCards } from '../cards/machine-cards.ts'
import type { MachineReadings } from '../machine/machine-readings.ts'
import type { PodNetwork } from '../network/pod-network.ts'
import type { RuntimeFacts } from '../pod-runtime.ts'
import { partOfLabel } from './node-object.ts'
import type { NodeRegistration } from './node-registration.ts'
import { NodeReport, type NodeShare } from './node-report.ts'

export interface AgentNodesOptions {
  /** One name, or several if the machine is to look like several nodes, each with an equal part of it. */
  readonly names: readonly [string, ...string[]]
  readonly client: ClusterClient
  readonly machineCards: MachineCards
  /** What the cluster has of the machine. */
  readonly share: () => NodeShare
  readonly network: PodNetwork
  readonly hostIP: string
  readonly version: string
  readonly cpus?: number | undefined
  readonly memoryBytes?: number | undefined
  readonly readings?: ((folder: string) => MachineReadings) | undefined
  readonly clock: Clock
  readonly log: Logger
}

interface AgentNode {
  readonly name: string
  readonly cards: CardLedger
  report: NodeReport | undefined
}

/** Before anything was told of the machine. */
const nothing = { cpus: 0, memoryBytes: 0 }

/** The Nodes that this machine is in a cluster: which cards each of them has, and what the cluster is told of each. */
export class AgentNodes {
  readonly #options: AgentNodesOptions
  readonly #nodes: readonly [AgentNode, ...AgentNode[]]

  constructor(options: AgentNodesOptions) {
    this.#options = options
    const [first, ...others] = options.names
    this.#nodes = [this.#node(first, 0), ...others.map((name, index) => this.#node(name, index + 1))]
  }

  has({ spec }: Pod): boolean {
    return this.#nodes.some(({ name }) => name === spec.nodeName)
  }

  /** The cards of the Pod's node. */
  cardsFor(pod: Pod | undefined): CardLedger {
    return this.#nodeOf(pod).cards
  }

  /** What Pods on the Pod's node can have. */
  allocatableFor(pod: Pod): { readonly cpus: number; readonly memoryBytes: number } {
    return this.#nodeOf(pod).report?.allocatable ?? nothing
  }

  releaseCards(podUid: string): void {
    for (const { cards } of this.#nodes) cards.release(podUid)
  }

  /** Whether Pods can have other cards than was told last. */
  get hasOtherCards(): boolean {
    return this.#nodes.some(({ report }) => report?.hasOtherCards)
  }

  get heldCards(): number {
    return this.#nodes.reduce((sum, { cards }) => sum + cards.heldCount, 0)
  }

  /** To be called before anything is reported. */
  describe(runtime: RuntimeFacts): void {
    const { names, machineCards: _cards, ...rest } = this.#options
    for (const node of this.#nodes) {
      const { name, cards } = node
      const partOf = name === names[0] ? undefined : names[0]
      node.report = new NodeReport({ ...rest, name, cards, runtime, parts: names.length, partOf })
    }
  }

  async report(ready: boolean, signal?: AbortSignal): Promise<void> {
    await Promise.all(this.#registrations().map((registration) => registration.report(ready, signal)))
  }

  reportSoon(): void {
    for (const registration of this.#registrations()) registration.reportSoon()
  }

  async heartbeat(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#registrations().map((registration) => registration.heartbeat(signal)))
  }

  /** Removes Nodes that this machine was in a former run and is not any more, and the Pods that were bound to them. */
  async removeFormer(signal: AbortSignal): Promise<void> {
    const { client, names, log } = this.#options
    const { items } = await client.list(nodeKind, { labels: { [partOfLabel]: names[0] } }, signal)
    for (const { metadata } of items) {
      if (names.includes(metadata.name)) continue
      log.info({ node: metadata.name }, 'this machine is no longer that node')
      await client.delete(nodeKind, { name: metadata.name }, { uid: metadata.uid }, signal).catch(ignoreGone)
      for (const pod of (await client.list(podKind, {}, signal)).items) {
        if (pod.spec.nodeName !== metadata.name) continue
        const { namespace, name, uid } = pod.metadata
        await client.delete(podKind, { namespace, name }, { graceSeconds: 0, uid }, signal).catch(ignoreGone)
      }
    }
  }

  #registrations(): readonly NodeRegistration[] {
    return this.#nodes.flatMap(({ report }) => report?.registration ?? [])
  }

  #nodeOf(pod: Pod | undefined): AgentNode {
    return this.#nodes.find(({ name }) => name === pod?.spec.nodeName) ?? this.#nodes[0]
  }

  #node(name: string, index: number): AgentNode {
    const { machineCards, names, share } = this.#options
    const limit = (kind: string) => {
      const all = machineCards.all.filter((card) => card.kind === kind).length
      const each = Math.floor(all / names.length)
      // What the cluster has of the machine fills one node after the other.
      const left = Math.min(all, share().cards?.get(kind) ?? Infinity) - index * each
      return names.length === 1 ? left : Math.min(each, Math.max(0, left))
    }
    return { name, cards: new CardLedger(machineCards, limit), report: undefined }
  }
}

function ignoreGone(error: unknown): void {
  if (!isStatusError(error, 'NotFound', 'Conflict')) throw error
}
