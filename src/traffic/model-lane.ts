import type { Clock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import type { EndpointAddress, Seat, SeatOutcome } from './endpoint-pool.ts'
import { pickEndpoint } from './pick-endpoint.ts'
import type { PodEndpoint } from './pod-endpoint.ts'
import type { TrafficSettings } from './traffic-settings.ts'
import { WaitingRoom } from './waiting-room.ts'

/** `closed`: it gets nothing new and is forgotten when its last seat is released. */
type EndpointState = 'open' | 'failed' | 'closed'

export interface LaneEndpoint {
  readonly name: string
  readonly identity: string
  readonly address: EndpointAddress
  inFlight: number
  state: EndpointState
}

/** What a lane tells its owner. */
export interface LaneEvents {
  firstWaiter(): void
  admitted(waitedMs: number): void
  endpointFailed(endpoint: LaneEndpoint): void
  countsChanged(): void
}

/** One model's endpoints, seats and waiters: the only place where they change. */
export class ModelLane {
  readonly #model: string
  readonly #settings: TrafficSettings
  readonly #clock: Clock
  readonly #events: LaneEvents
  readonly #room: WaitingRoom
  /** What may be picked, by name. */
  readonly #open = new Map<string, LaneEndpoint>()
  /** Everything that is not forgotten yet; two of one name can be here when a Pod was replaced. */
  readonly #endpoints = new Set<LaneEndpoint>()
  #active = 0
  #lastPicked = ''
  #lastActiveAt: number | undefined

  constructor(options: { model: string; settings: TrafficSettings; clock: Clock; events: LaneEvents }) {
    this.#model = options.model
    this.#settings = options.settings
    this.#clock = options.clock
    this.#events = options.events
    this.#room = new WaitingRoom(options.clock)
  }

  get active(): number {
    return this.#active
  }

  get waiting(): number {
    return this.#room.size
  }

  get lastActiveAt(): number | undefined {
    return this.#active + this.#room.size > 0 ? this.#clock.now() : this.#lastActiveAt
  }

  get empty(): boolean {
    return this.#active + this.#room.size + this.#endpoints.size === 0
  }

  inFlightByEndpoint(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { name, inFlight } of this.#endpoints) counts.set(name, (counts.get(name) ?? 0) + inFlight)
    return counts
  }

  /**
   * A seat when there is an endpoint to be picked now. What failed is not open until it has shown to be healthy, so an
   * excluded one that is open is better than none.
   */
  trySeat(exclude?: ReadonlySet<string>): Seat | undefined {
    const endpoint =
      pickEndpoint(this.#open.values(), exclude, this.#lastPicked) ??
      pickEndpoint(this.#open.values(), undefined, this.#lastPicked)
    if (!endpoint) return undefined
    this.#lastPicked = endpoint.name
    return this.#seatAt(endpoint)
  }

  async wait(signal: AbortSignal, overdue: () => Error): Promise<Seat> {
    const { waitingRoomSize, retryAfterSeconds, wakeDeadlineMs } = this.#settings
    if (this.#room.size >= waitingRoomSize) {
      const details = { model: this.#model, waiting: this.#room.size, retryAfterSeconds }
      throw new SluiceError('waiting_room_full', details)
    }
    const waiting = this.#room.wait({ deadlineMs: wakeDeadlineMs, overdue, signal })
    this.#events.countsChanged()
    if (this.#room.size === 1) this.#events.firstWaiter()
    try {
      return await waiting
    } finally {
      this.#lastActiveAt = this.#clock.now()
      this.#events.countsChanged()
    }
  }

  /** What is known of a Pod now. An unchanged one keeps its state, so that news about a Pod does not heal it. */
  offer(facts: PodEndpoint): void {
    const known = this.#current(facts.name)
    if (known?.identity === facts.identity && facts.accepting) return
    if (known) this.#close(known)
    if (!facts.accepting) return
    const { name, identity, address } = facts
    const endpoint: LaneEndpoint = { name, identity, address, inFlight: 0, state: 'open' }
    this.#endpoints.add(endpoint)
    this.#reopen(endpoint)
  }

  withdraw(name: string): void {
    const known = this.#current(name)
    if (known) this.#close(known)
  }

  /** A failed endpoint has shown to be healthy. */
  recover(endpoint: LaneEndpoint): void {
    if (endpoint.state === 'failed') this.#reopen(endpoint)
  }

  refuseWaiters(error: Error): void {
    this.#room.refuseAll(error)
  }

  #current(name: string): LaneEndpoint | undefined {
    for (const endpoint of this.#endpoints) {
      if (endpoint.name === name && endpoint.state !== 'closed') return endpoint
    }
    return undefined
  }

  #reopen(endpoint: LaneEndpoint): void {
    endpoint.state = 'open'
    this.#open.set(endpoint.name, endpoint)
    this.#room.admit(
      () => this.trySeat(),
      (waitedMs) => this.#events.admitted(waitedMs),
    )
  }

  #close(endpoint: LaneEndpoint): void {
    endpoint.state = 'closed'
    this.#open.delete(endpoint.name)
    if (endpoint.inFlight === 0) this.#endpoints.delete(endpoint)
  }

  #fail(endpoint: LaneEndpoint): void {
    if (endpoint.state !== 'open') return
    endpoint.state = 'failed'
    this.#open.delete(endpoint.name)
    this.#events.endpointFailed(endpoint)
  }

  #seatAt(endpoint: LaneEndpoint): Seat {
    endpoint.inFlight++
    this.#active++
    this.#events.countsChanged()
    let released = false
    const release = (outcome: SeatOutcome = 'served') => {
      if (released) return
      released = true
      endpoint.inFlight--
      this.#active--
      this.#lastActiveAt = this.#clock.now()
      if (outcome === 'failed') this.#fail(endpoint)
      if (endpoint.state === 'closed' && endpoint.inFlight === 0) this.#endpoints.delete(endpoint)
      this.#events.countsChanged()
    }
    return { address: endpoint.address, endpoint: endpoint.name, release }
  }
}
