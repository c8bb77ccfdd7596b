import type { Clock } from '../../foundation/clock.ts'
import type { EndpointAddress, ReserveHint, Seat, SeatOutcome } from '../endpoint-pool.ts'
import type { KnownEndpoint } from '../endpoints/known-endpoint.ts'
import { type LoadPlace, type LoadTable, ownerRow } from '../endpoints/load-table.ts'
import { type EndpointEvents, ModelEndpoints } from '../endpoints/model-endpoints.ts'
import type { PodEndpoint } from '../endpoints/pod-endpoint.ts'
import type { TrafficSettings } from '../traffic-settings.ts'
import { WaitingRoom } from './waiting-room.ts'
import { type WakePhase, WakeTimes } from './wake-times.ts'
import type { OfferedEndpoint } from '../endpoints/offered-endpoint.ts'

/** A hint with the row of the thread that the seat is for; without a row, this thread. */
export interface SeatHint extends ReserveHint {
  readonly row?: number
}

/** A seat with the endpoint as another thread gets it. That thread releases the seat itself, in its own row. */
export interface OwnedSeat extends Seat {
  readonly offered: OfferedEndpoint
}

/** What the pool wants to know about one model's seats. */
export interface SeatEvents extends Omit<EndpointEvents, 'opened' | 'lastForgotten'> {
  /** `asleep`: there was no usable endpoint. */
  firstWaiter(asleep: boolean): void
  admitted(waitedMs: number): void
  wakeReached(phase: WakePhase, ms: number): void
  /** Nothing waits and no endpoint is left. */
  emptied(): void
}

interface ModelSeatsOptions {
  readonly model: string
  readonly settings: TrafficSettings
  readonly clock: Clock
  readonly loads: LoadTable
  readonly events: SeatEvents
}

/** One model's endpoints together with its waiting room. */
export class ModelSeats {
  readonly #settings: TrafficSettings
  readonly #clock: Clock
  readonly #events: SeatEvents
  readonly #room: WaitingRoom<SeatHint, OwnedSeat>
  readonly #wake: WakeTimes
  readonly #endpoints: ModelEndpoints

  constructor({ model, settings, clock, loads, events }: ModelSeatsOptions) {
    this.#settings = settings
    this.#clock = clock
    this.#events = events
    const { waitingRoomSize, retryAfterSeconds } = settings
    this.#room = new WaitingRoom({ model, clock, size: waitingRoomSize, retryAfterSeconds })
    this.#wake = new WakeTimes(clock, (phase, ms) => events.wakeReached(phase, ms))
    this.#endpoints = new ModelEndpoints({
      clock,
      loads,
      isAwaited: () => this.#room.size > 0,
      events: {
        opened: () => this.#onOpened(),
        endpointFailed: (endpoint) => events.endpointFailed(endpoint),
        needsProbe: (endpoint) => events.needsProbe(endpoint),
        openChanged: () => events.openChanged(),
        leftOut: (name) => events.leftOut(name),
        lastForgotten: () => {
          if (this.isEmpty) events.emptied()
        },
      },
    })
  }

  get active(): number {
    return this.#endpoints.active
  }

  get waiting(): number {
    return this.#room.size
  }

  /** Whether there is a usable endpoint, even if it is full. */
  get awake(): boolean {
    return this.#endpoints.awake
  }

  /** The usable endpoints, in the form that other threads get. */
  get open(): readonly OfferedEndpoint[] {
    return this.#endpoints.open
  }

  get lastActiveAt(): number | undefined {
    return this.active + this.#room.size > 0 ? this.#clock.now() : this.#endpoints.lastActiveAt
  }

  get isEmpty(): boolean {
    return this.#room.size === 0 && this.#endpoints.isEmpty
  }

  inFlightByEndpoint(): ReadonlyMap<string, number> {
    return this.#endpoints.inFlightByEndpoint()
  }

  /** A seat if an endpoint is free now and nobody who came earlier waits for it. */
  trySeat(hint: SeatHint): OwnedSeat | undefined {
    if (!this.#endpoints.awake) return undefined
    // Another thread may have freed a seat whose message is still on its way.
    if (this.#room.size > 0) {
      this.#admit()
      if (this.#room.size > 0) return undefined
    }
    return this.#takeSeat(hint)
  }

  async wait(hint: SeatHint, signal: AbortSignal, overdue: () => Error): Promise<OwnedSeat> {
    this.#room.refuseWhenFull()
    const waiting = this.#room.wait({ hint, deadlineMs: this.#settings.wakeDeadlineMs, overdue, signal })
    if (this.#room.size === 1) this.#beginWaiting()
    this.#tellWanted()
    // Another thread may have freed a seat before it could know that somebody waits.
    this.#admit()
    try {
      return await waiting
    } finally {
      this.#endpoints.noteActivity()
      this.#tellWanted()
      if (this.isEmpty) this.#events.emptied()
    }
  }

  /** Takes in the latest state of a Pod. */
  offer(facts: PodEndpoint): void {
    this.#endpoints.offer(facts)
  }

  withdraw(name: string): void {
    this.#endpoints.withdraw(name)
  }

  /** A probe found the endpoint healthy. */
  recover(endpoint: KnownEndpoint): void {
    this.#endpoints.recover(endpoint)
  }

  /** A request in another thread found the endpoint failing. */
  reportFailed(place: LoadPlace): void {
    this.#endpoints.reportFailed(place)
  }

  /** Requests of another thread left. */
  freed(): void {
    this.#endpoints.forgetClosed()
    this.#admit()
  }

  /** Another thread died: all its requests count as active until now. */
  touch(): void {
    if (this.active > 0) this.#endpoints.noteActivity()
  }

  /** Another thread got the first byte of an answer. */
  answered(): void {
    this.#wake.reached('first_byte')
  }

  /** A Pod of the model has reached this phase of the wake. */
  reached(phase: 'placed' | 'started'): void {
    this.#wake.reached(phase)
  }

  refuseWaiters(error: Error): void {
    this.#room.refuseAll(error)
    this.#tellWanted()
    this.#wake.abandon()
  }

  /** A request released its seat. */
  leave(endpoint: KnownEndpoint, row: number, outcome: SeatOutcome): void {
    this.#endpoints.release(endpoint, row, outcome)
    this.#admit()
  }

  #beginWaiting(): void {
    const asleep = !this.#endpoints.awake
    if (asleep) this.#wake.begin()
    this.#endpoints.probeAll()
    this.#events.firstWaiter(asleep)
  }

  #onOpened(): void {
    this.#wake.reached('loaded')
    if (this.#room.size === 0) this.#wake.abandon()
    this.#admit()
  }

  #admit(): void {
    this.#room.admit(
      (hint) => this.#takeSeat(hint),
      (waitedMs) => this.#events.admitted(waitedMs),
    )
    this.#tellWanted()
  }

  #tellWanted(): void {
    this.#endpoints.tellWanted(this.#room.size > 0)
  }

  #takeSeat(hint: SeatHint): OwnedSeat | undefined {
    const row = hint.row ?? ownerRow
    const endpoint = this.#endpoints.take(hint, row)
    return endpoint && new TakenSeat(this, endpoint, row)
  }
}

class TakenSeat implements OwnedSeat {
  readonly address: EndpointAddress
  readonly endpoint: string
  readonly key: string | undefined
  readonly offered: KnownEndpoint
  readonly #seats: ModelSeats
  readonly #row: number
  #released = false

  constructor(seats: ModelSeats, endpoint: KnownEndpoint, row: number) {
    this.address = endpoint.address
    this.endpoint = endpoint.name
    this.key = endpoint.key
    this.offered = endpoint
    this.#seats = seats
    this.#row = row
  }

  answered(): void {
    this.#seats.answered()
  }

  release(outcome: SeatOutcome = 'served'): void {
    if (this.#released) return
    this.#released = true
    this.#seats.leave(this.offered, this.#row, outcome)
  }
}
