import type { Clock } from '../../foundation/clock.ts'
import { EndpointChooser } from '../picking/endpoint-chooser.ts'
import type { ReserveHint, SeatOutcome } from '../endpoint-pool.ts'
import { KnownEndpoint } from './known-endpoint.ts'
import type { LoadPlace, LoadTable } from './load-table.ts'
import type { PodEndpoint } from './pod-endpoint.ts'
import { type OfferedEndpoint, offeredOf } from './offered-endpoint.ts'

/** What happens to a model's endpoints. */
export interface EndpointEvents {
  /** An endpoint became usable: it is new, or healthy again. */
  opened(): void
  endpointFailed(endpoint: KnownEndpoint): void
  /** The endpoint has to be probed; call `recover` once it is healthy. */
  needsProbe(endpoint: KnownEndpoint): void
  /** The set of usable endpoints changed. */
  openChanged(): void
  /** The load table has no slot left for the endpoint. */
  leftOut(name: string): void
  /** The model's last endpoint was removed. */
  lastForgotten(): void
}

interface ModelEndpointsOptions {
  readonly clock: Clock
  readonly loads: LoadTable
  readonly events: EndpointEvents
  /** Whether requests wait for the model: then its endpoints are probed before the cluster calls them ready. */
  readonly isAwaited: () => boolean
}

/** How often to pick again when another thread took the place first. */
const mostPicks = 4

/** The endpoints of one model: which there are, their states and loads. Nothing else changes these. */
export class ModelEndpoints {
  readonly #clock: Clock
  readonly #loads: LoadTable
  readonly #events: EndpointEvents
  readonly #isAwaited: () => boolean
  /** The usable ones, by name. */
  readonly #open = new Map<string, KnownEndpoint>()
  /** All endpoints that still exist or have requests. There can be two of one name after a Pod was replaced. */
  readonly #endpoints = new Set<KnownEndpoint>()
  readonly #chooser = new EndpointChooser<KnownEndpoint>((endpoint) => endpoint.state === 'open')
  #lastActiveAt: number | undefined
  #isWanted = false

  constructor({ clock, loads, events, isAwaited }: ModelEndpointsOptions) {
    this.#clock = clock
    this.#loads = loads
    this.#events = events
    this.#isAwaited = isAwaited
  }

  get active(): number {
    let active = 0
    for (const { inFlight } of this.#endpoints) active += inFlight
    return active
  }

  /** Whether there is a usable endpoint, even if it is full. */
  get awake(): boolean {
    return this.#open.size > 0
  }

  get isEmpty(): boolean {
    return this.#endpoints.size === 0
  }

  /** The usable endpoints, in the form that other threads get. */
  get open(): readonly OfferedEndpoint[] {
    return [...this.#open.values()].map(offeredOf)
  }

  /** When a request was last served or stopped waiting. */
  get lastActiveAt(): number | undefined {
    for (const { place } of this.#endpoints) this.#recallActivity(place)
    return this.#lastActiveAt
  }

  noteActivity(): void {
    this.#lastActiveAt = this.#clock.now()
  }

  inFlightByEndpoint(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { name, inFlight } of this.#endpoints) counts.set(name, (counts.get(name) ?? 0) + inFlight)
    return counts
  }

  /**
   * Takes in the latest state of a Pod. An endpoint that did not change keeps its state: an update of a failed Pod must
   * not make it usable.
   */
  offer(facts: PodEndpoint): void {
    const known = this.#current(facts.name)
    const isSame = known?.identity === facts.identity
    if (known && (!isSame || facts.standing === 'leaving')) this.#close(known)
    if (facts.standing === 'leaving') return
    const podReady = facts.standing === 'ready'
    if (!known || !isSame) return this.#add(facts, podReady)
    const wasReady = known.podReady
    known.podReady = podReady
    if (podReady && known.state === 'starting') this.#reopen(known)
    // If a probe found it healthy before the cluster did, it stays open; if the cluster calls it unready again, not.
    else if (wasReady && !podReady && known.state === 'open') this.#await(known)
  }

  withdraw(name: string): void {
    const known = this.#current(name)
    if (known) this.#close(known)
  }

  /** A probe found the endpoint healthy. */
  recover(endpoint: KnownEndpoint): void {
    if (endpoint.state === 'failed' || endpoint.state === 'starting') this.#reopen(endpoint)
  }

  /** A request in another thread found the endpoint failing. */
  reportFailed(place: LoadPlace): void {
    for (const endpoint of this.#endpoints) {
      const { slot, generation } = endpoint.place
      if (slot === place.slot && generation === place.generation) this.#fail(endpoint)
    }
  }

  /** The first request began to wait: probe everything that may soon serve. */
  probeAll(): void {
    for (const endpoint of this.#endpoints) {
      if (endpoint.state === 'starting' || endpoint.state === 'failed') this.#events.needsProbe(endpoint)
    }
  }

  /** Tells the other threads, through the table, whether requests wait. */
  tellWanted(wanted: boolean): void {
    if (wanted === this.#isWanted) return
    this.#isWanted = wanted
    for (const { place } of this.#endpoints) this.#loads.want(place, wanted)
  }

  /** Picks an endpoint and counts a request there. */
  take(hint: ReserveHint, row: number): KnownEndpoint | undefined {
    for (let pick = 0; pick < mostPicks; pick++) {
      const endpoint = this.#chooser.choose(this.#open, hint)
      if (!endpoint) return undefined
      if (this.#loads.take(endpoint.place, row, endpoint.capacity)) return endpoint
    }
    return undefined
  }

  /** A request of this thread left its endpoint. */
  release(endpoint: KnownEndpoint, row: number, outcome: SeatOutcome): void {
    this.#loads.release(endpoint.place, row)
    this.noteActivity()
    if (outcome === 'failed') this.#fail(endpoint)
    this.#forgetIfDone(endpoint)
  }

  /** Requests of another thread left: forget closed endpoints that are now empty. */
  forgetClosed(): void {
    for (const endpoint of this.#endpoints) this.#forgetIfDone(endpoint)
  }

  #add(facts: PodEndpoint, podReady: boolean): void {
    const place = this.#loads.claim()
    if (!place) return this.#events.leftOut(facts.name)
    this.#loads.want(place, this.#isWanted)
    const endpoint = new KnownEndpoint(facts, podReady, place, this.#loads)
    this.#endpoints.add(endpoint)
    if (podReady) this.#reopen(endpoint)
    else this.#await(endpoint)
  }

  #current(name: string): KnownEndpoint | undefined {
    for (const endpoint of this.#endpoints) {
      if (endpoint.name === name && endpoint.state !== 'closed') return endpoint
    }
    return undefined
  }

  #reopen(endpoint: KnownEndpoint): void {
    endpoint.state = 'open'
    this.#open.set(endpoint.name, endpoint)
    this.#events.openChanged()
    this.#events.opened()
  }

  #await(endpoint: KnownEndpoint): void {
    this.#takeOut(endpoint, 'starting')
    if (this.#isAwaited()) this.#events.needsProbe(endpoint)
  }

  #close(endpoint: KnownEndpoint): void {
    this.#takeOut(endpoint, 'closed')
    this.#forgetIfDone(endpoint)
  }

  #fail(endpoint: KnownEndpoint): void {
    if (endpoint.state !== 'open') return
    this.#takeOut(endpoint, 'failed')
    this.#events.endpointFailed(endpoint)
    this.#events.needsProbe(endpoint)
  }

  #takeOut(endpoint: KnownEndpoint, state: 'starting' | 'failed' | 'closed'): void {
    endpoint.state = state
    if (this.#open.get(endpoint.name) !== endpoint) return
    this.#open.delete(endpoint.name)
    this.#events.openChanged()
  }

  #forgetIfDone(endpoint: KnownEndpoint): void {
    if (endpoint.state !== 'closed' || endpoint.inFlight > 0 || !this.#endpoints.delete(endpoint)) return
    this.#recallActivity(endpoint.place)
    this.#loads.forget(endpoint.place)
    if (this.isEmpty) this.#events.lastForgotten()
  }

  #recallActivity(place: LoadPlace): void {
    const at = this.#loads.lastActiveAt(place)
    if (at !== undefined && at > (this.#lastActiveAt ?? 0)) this.#lastActiveAt = Math.min(at, this.#clock.now())
  }
}
