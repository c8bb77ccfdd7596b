import type { Demand, DemandReading } from '../../autoscaler/demand.ts'
import type { DemandFrame, ToldModel } from './demand-frame.ts'

/** What is known about one gateway. */
interface HeardGateway {
  /** False while its stream is broken or it has not seen the cluster: its requests are not known then. */
  isKnown: boolean
  readonly models: Map<string, HeardModel>
}

interface HeardModel extends ToldModel {
  readonly lastActiveAt: number | undefined
}

/**
 * How long nobody may be able to reach any gateway before that counts as nobody asking: a cluster whose gateways
 * never become ready must not hold its cards for ever. Kubernetes gives up Pods of a lost node after half of it.
 */
const longestUnreachableMs = 10 * 60_000

/**
 * The demand at all gateways together. While one of them is not heard, the sums are only what is known: enough to wake
 * a model and to add replicas, never to take any away. The same holds while nobody can reach any of them, as after an
 * outage of the API server, when Kubernetes takes nodes for lost: no requests do not mean that nobody wants to ask.
 */
export class JoinedDemand implements Demand {
  readonly #now: () => number
  readonly #gateways = new Map<string, HeardGateway>()
  readonly #firstWaiterListeners = new Set<(model: string) => void>()
  /** False until it is known which gateways there are. */
  #isListed = false
  #unreachableSince: number | undefined

  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * These gateways exist, heard or not. Others that were known are gone, and their requests with them. Clients are sent
   * to those that are ready, if there are any.
   */
  expect(names: Iterable<string>, areReady: boolean): void {
    this.#isListed = true
    const expected = new Set(names)
    this.#unreachableSince = areReady || expected.size === 0 ? undefined : (this.#unreachableSince ?? this.#now())
    for (const name of this.#gateways.keys()) if (!expected.has(name)) this.#gateways.delete(name)
    for (const name of expected) this.#gateways.set(name, this.#gateways.get(name) ?? unheard())
  }

  /** How many gateways there are whose demand is not known. */
  get unknownGateways(): number {
    return [...this.#gateways.values()].filter(({ isKnown }) => !isKnown).length
  }

  get gateways(): number {
    return this.#gateways.size
  }

  hear(name: string, frame: DemandFrame): void {
    const gateway = this.#gateways.get(name)
    // One that was deleted meanwhile.
    if (!gateway) return
    if (frame.whole) gateway.models.clear()
    for (const model of frame.gone) gateway.models.delete(model)
    gateway.isKnown = frame.known
    const begun: string[] = []
    for (const [model, told] of Object.entries(frame.models)) {
      const lastActiveAt = told.idleMs === null ? undefined : this.#now() - told.idleMs
      if (told.waiting > 0 && (gateway.models.get(model)?.waiting ?? 0) === 0) begun.push(model)
      gateway.models.set(model, { ...told, lastActiveAt })
    }
    for (const model of begun) for (const listener of this.#firstWaiterListeners) listener(model)
  }

  /** Its stream is broken. What it told stays the least that is assumed. */
  lose(name: string): void {
    const gateway = this.#gateways.get(name)
    if (gateway) gateway.isKnown = false
  }

  /** Nobody listens any more. What was told is not true for long, so nothing of it counts when somebody does again. */
  forget(): void {
    this.#isListed = false
    this.#unreachableSince = undefined
    this.#gateways.clear()
  }

  sample(model: string): DemandReading | undefined {
    if (!this.#isListed) return undefined
    const heard = this.#heard(model)
    const active = heard.reduce((sum, told) => sum + told.active, 0)
    const waiting = heard.reduce((sum, told) => sum + told.waiting, 0)
    return { active, waiting, isPartial: this.unknownGateways > 0 || this.#isUnreachable() }
  }

  /** Less than nothing: the clock was set back. */
  #isUnreachable(): boolean {
    const since = this.#unreachableSince
    return since !== undefined && Math.abs(this.#now() - since) < longestUnreachableMs
  }

  lastActiveAt(model: string): number | undefined {
    const heard = this.#heard(model)
    if (heard.some(({ active, waiting }) => active + waiting > 0)) return this.#now()
    const times = heard.flatMap(({ lastActiveAt }) => lastActiveAt ?? [])
    return times.length === 0 ? undefined : Math.max(...times)
  }

  onFirstWaiter(callback: (model: string) => void): () => void {
    this.#firstWaiterListeners.add(callback)
    return () => this.#firstWaiterListeners.delete(callback)
  }

  /**
   * Requests in flight at a Pod. Undefined when a gateway is not heard, or has not learnt yet that the Pod gets no
   * more: then it may send it one at any moment.
   */
  busy(model: string, pod: string): number | undefined {
    if (!this.#isListed || this.unknownGateways > 0) return undefined
    const told = this.#heard(model).flatMap(({ pods }) => (Object.hasOwn(pods, pod) ? (pods[pod] ?? []) : []))
    if (told.some(({ open }) => open)) return undefined
    return told.reduce((sum, { requests }) => sum + requests, 0)
  }

  /** For what counts cards: the requests at each Pod, as far as they are known. */
  inFlightByEndpoint(model: string): ReadonlyMap<string, number> {
    const sums = new Map<string, number>()
    for (const { pods } of this.#heard(model)) {
      for (const [pod, { requests }] of Object.entries(pods)) sums.set(pod, (sums.get(pod) ?? 0) + requests)
    }
    return sums
  }

  #heard(model: string): readonly HeardModel[] {
    return [...this.#gateways.values()].flatMap(({ models }) => models.get(model) ?? [])
  }
}

function unheard(): HeardGateway {
  return { isKnown: false, models: new Map() }
}
