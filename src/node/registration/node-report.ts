import { arch, availableParallelism, platform, release } from 'node:os'
import type { ClusterClient } from '../../cluster/cluster-client.ts'
import type { Clock } from '../../foundation/clock.ts'
import type { Logger } from '../../foundation/log.ts'
import type { CardLedger } from '../cards/card-ledger.ts'
import { type MachineReadings, readMachine, reservedMemoryBytes } from '../machine/machine-readings.ts'
import type { PodNetwork } from '../network/pod-network.ts'
import type { RuntimeFacts } from '../pod-runtime.ts'
import type { MachineFacts, NodeReadings } from './node-object.ts'
import { NodeRegistration } from './node-registration.ts'

/** A part of the machine. */
export interface NodeShare {
  readonly cpus?: number | undefined
  readonly memoryBytes?: number | undefined
  /** Of each kind; of one that is not named, all. */
  readonly cards?: ReadonlyMap<string, number> | undefined
}

export interface NodeReportOptions {
  readonly name: string
  readonly client: ClusterClient
  readonly runtime: RuntimeFacts
  readonly network: PodNetwork
  readonly hostIP: string
  readonly cards: CardLedger
  /** What the cluster has of the machine now. */
  readonly share: () => NodeShare
  /** How many nodes share that equally, and which of them is the first, if it is another one. */
  readonly parts?: number | undefined
  readonly partOf?: string | undefined
  readonly version: string
  /** What the machine has, where it is not to be asked itself. */
  readonly cpus?: number | undefined
  readonly memoryBytes?: number | undefined
  readonly readings?: ((folder: string) => MachineReadings) | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** What the cluster is told of this node: its part of the machine, what of that is left, and how it is. */
export class NodeReport {
  readonly registration: NodeRegistration
  readonly #options: NodeReportOptions
  #allocatable = { cpus: 0, memoryBytes: 0 }
  #toldCards = ''

  constructor(options: NodeReportOptions) {
    this.#options = options
    const { client, clock, log } = options
    const facts = this.#facts()
    this.registration = new NodeRegistration({ client, clock, log, facts, readings: () => this.#read(facts) })
  }

  /** What Pods can have, as it was told last. */
  get allocatable(): { readonly cpus: number; readonly memoryBytes: number } {
    return this.#allocatable
  }

  /** Whether Pods can have other cards than was told last. */
  get hasOtherCards(): boolean {
    return JSON.stringify(this.#options.cards.allocatable) !== this.#toldCards
  }

  #read(facts: MachineFacts): NodeReadings {
    const { cards, runtime, readings = readMachine } = this.#options
    this.#allocatable = { cpus: facts.cpus, memoryBytes: facts.allocatableMemoryBytes }
    const { lost: lostCards, allocatable: allocatableCards } = cards
    this.#toldCards = JSON.stringify(allocatableCards)
    return { machine: readings(runtime.folder), lostCards, allocatableCards }
  }

  #facts(): MachineFacts {
    const { name, version, runtime, network, hostIP, cards, parts, partOf } = this.#options
    const capacity = () => this.#capacity()
    return {
      name,
      parts,
      partOf,
      addresses: [hostIP, network.hostIP6].filter((address) => address !== undefined),
      get cpus() {
        return capacity().cpus
      },
      get memoryBytes() {
        return capacity().memoryBytes
      },
      get allocatableMemoryBytes() {
        return capacity().allocatableMemoryBytes
      },
      arch: arch(),
      platform: platform(),
      kernelVersion: release(),
      version,
      get cards() {
        return cards.share
      },
      runtime,
      get network() {
        return network.facts
      },
    }
  }

  #capacity() {
    const { cpus = availableParallelism(), memoryBytes, runtime, readings = readMachine, share } = this.#options
    const { parts = 1 } = this.#options
    const part = share()
    const bytes = memoryBytes ?? readings(runtime.folder).memoryBytes
    const most = part.memoryBytes ?? Infinity
    return {
      cpus:
        parts === 1 ? Math.min(cpus, part.cpus ?? Infinity) : partOfCpus(Math.min(cpus, part.cpus ?? Infinity), parts),
      memoryBytes: Math.floor(Math.min(bytes, most) / parts),
      allocatableMemoryBytes: Math.floor(Math.min(bytes - reservedMemoryBytes(bytes), most) / parts),
    }
  }
}

/** In whole thousandths, as Kubernetes counts them. */
function partOfCpus(cpus: number, parts: number): number {
  return Math.floor((cpus * 1000) / parts) / 1000
}
