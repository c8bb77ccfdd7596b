import type { Clock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import { EndpointChooser } from './endpoint-chooser.ts'
import type { EndpointAddress, ReserveHint, Seat, SeatOutcome } from './endpoint-pool.ts'
import { LaneEndpoint } from './lane-endpoint.ts'
import { type LoadPlace, type LoadTable, ownerRow } from './load-table.ts'
import type { PodEndpoint } from './pod-endpoint.ts'
import type { TrafficSettings } from './traffic-settings.ts'
import { WaitingRoom } from './waiting-room.ts'
import { type WakePhase, WakeTimes } from './wake-times.ts'
import type { OfferedEndpoint } from './worker-messages.ts'

/** For whom a seat is: without a row it is for a request of this thread. */
export interface LaneHint extends ReserveHint {
  readonly row?: number
}

/** A seat that another thread may be told of. Who counts in another row releases it there, by itself. */
export interface LaneSeat extends Seat {
  readonly offered: OfferedEndpoint
}

/** What a lane tells its owner. */
export interface LaneEvents {
  /** `asleep`: no endpoint is open. */
  firstWaiter(asleep: boolean): void
  admitted(waitedMs: number): void
  wakeReached(phase: WakePhase, ms: number): void
  endpointFailed(endpoint: LaneEndpoint): void
  /** It is to be found out when the endpoint is healthy, and `recover` to be told. */
  needsProbe(endpoint: LaneEndpoint): void
  /** What may be picked is not what it was. */
  openChanged(): void
  /** There is no place left to count its requests at. */
  leftOut(name: string): void
  /** Nobody waits, and nothing is left to be forgotten. */
  emptied(): void
}

interface ModelLaneOptions {
  readonly model: string
  readonly settings: TrafficSettings
  readonly clock: Clock
  readonly loads: LoadTable
  readonly events: LaneEvents
}

/** How often a pick is tried again when another thread was faster. */
const mostPicks = 4

/** One model's endpoints, seats and waiters: the only place where they change. */
export class ModelLane {
  readonly #model: string
  readonly #settings: TrafficSettings
  readonly #clock: Clock
  readonly #loads: LoadTable
  readonly #events: LaneEvents
  readonly #room: WaitingRoom<LaneHint, LaneSeat>
  readonly #wake: WakeTimes
  /** What may be picked, by name. */
  readonly #open = new Map<string, LaneEndpoint>()
  /** Everything that is not forgotten yet; two of one name can be here when a Pod was replaced. */
  readonly #endpoints = new Set<LaneEndpoint>()
  readonly #chooser = new EndpointChooser<LaneEndpoint>((endpoint) => endpoint.state === 'open')
  #lastActiveAt: number | undefined
  #wanted = false

  constructor(options: ModelLaneOptions) {
    this.#model = options.model
    this.#settings = options.settings
    this.#clock = options.clock
    this.#loads = options.loads
    this.#events = options.events
    this.#room = new WaitingRoom(options.clock)
    this.#wake = new WakeTimes(options.clock, (phase, ms) => options.events.wakeReached(phase, ms))
  }

  get active(): number {
    let active = 0
    for (const { inFlight } of this.#endpoints) active += inFlight
    return active
  }

  get waiting(): number {
    return this.#room.size
  }

  /** Whether anything may be picked, be it full. */
  get awake(): boolean {
    return this.#open.size > 0
  }

  /** What may be picked, as another thread is told. */
  get open(): readonly OfferedEndpoint[] {
    return [...this.#open.values()].map(offeredOf)
  }

  get lastActiveAt(): number | undefined {
    if (this.active + this.#room.size > 0) return this.#clock.now()
    for (const { place } of this.#endpoints) this.#recallActivity(place)
    return this.#lastActiveAt
  }

  get empty(): boolean {
    return this.#room.size + this.#endpoints.size === 0
  }

  inFlightByEndpoint(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { name, inFlight } of this.#endpoints) counts.set(name, (counts.get(name) ?? 0) + inFlight)
    return counts
  }

  /** A seat when there is an endpoint to be picked now, and nobody who came before waits for it. */
  trySeat(hint: LaneHint): LaneSeat | undefined {
    if (this.#open.size === 0) return undefined
    // Another thread may have left a seat, and its word of it not be here yet.
    if (this.#room.size > 0) {
      this.#admit()
      if (this.#room.size > 0) return undefined
    }
    return this.#takeSeat(hint)
  }

  async wait(hint: LaneHint, signal: AbortSignal, overdue: () => Error): Promise<LaneSeat> {
    const { waitingRoomSize, retryAfterSeconds, wakeDeadlineMs } = this.#settings
    if (this.#room.size >= waitingRoomSize) {
      const details = { model: this.#model, waiting: this.#room.size, retryAfterSeconds }
      throw new SluiceError('waiting_room_full', details)
    }
    const waiting = this.#room.wait({ hint, deadlineMs: wakeDeadlineMs, overdue, signal })
    if (this.#room.size === 1) this.#beginWaiting()
    this.#tellWanted()
    // What another thread left before it could know that somebody waits.
    this.#admit()
    try {
      return await waiting
    } finally {
      this.#lastActiveAt = this.#clock.now()
      this.#tellWanted()
      if (this.empty) this.#events.emptied()
    }
  }

  /** What is known of a Pod now. An unchanged one keeps its state, so that news about a Pod does not heal it. */
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
    // One that a probe found healthy before the cluster did stays; one that the cluster takes back does not.
    else if (wasReady && !podReady && known.state === 'open') this.#await(known)
  }

  withdraw(name: string): void {
    const known = this.#current(name)
    if (known) this.#close(known)
  }

  /** A probe found the endpoint healthy. */
  recover(endpoint: LaneEndpoint): void {
    if (endpoint.state === 'failed' || endpoint.state === 'starting') this.#reopen(endpoint)
  }

  /** Another thread's request found the endpoint failing. */
  reportFailed(place: LoadPlace): void {
    for (const endpoint of this.#endpoints) {
      const { slot, generation } = endpoint.place
      if (slot === place.slot && generation === place.generation) this.#fail(endpoint)
    }
  }

  /** Another thread's requests have left. */
  freed(): void {
    for (const endpoint of this.#endpoints) this.#forgetIfDone(endpoint)
    this.#admit()
  }

  /** Another thread's requests end at this moment, whoever sent them. */
  touch(): void {
    if (this.active > 0) this.#lastActiveAt = this.#clock.now()
  }

  /** The first byte of an answer by another thread. */
  answered(): void {
    this.#wake.reached('first_byte')
  }

  /** A Pod of the model has come this far. */
  reached(phase: 'placed' | 'started'): void {
    this.#wake.reached(phase)
  }

  refuseWaiters(error: Error): void {
    this.#room.refuseAll(error)
    this.#tellWanted()
    this.#wake.abandon()
  }

  #beginWaiting(): void {
    const asleep = this.#open.size === 0
    if (asleep) this.#wake.begin()
    for (const endpoint of this.#endpoints) {
      if (endpoint.state === 'starting' || endpoint.state === 'failed') this.#events.needsProbe(endpoint)
    }
    this.#events.firstWaiter(asleep)
  }

  #add(facts: PodEndpoint, podReady: boolean): void {
    const place = this.#loads.claim()
    if (!place) return this.#events.leftOut(facts.name)
    this.#loads.want(place, this.#wanted)
    const endpoint = new LaneEndpoint(facts, podReady, place, this.#loads)
    this.#endpoints.add(endpoint)
    if (podReady) this.#reopen(endpoint)
    else this.#await(endpoint)
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
    this.#events.openChanged()
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

  /** Threads that share the counts must know whether somebody waits. */
  #tellWanted(): void {
    const wanted = this.#room.size > 0
    if (wanted === this.#wanted) return
    this.#wanted = wanted
    for (const { place } of this.#endpoints) this.#loads.want(place, wanted)
  }

  #await(endpoint: LaneEndpoint): void {
    this.#takeOut(endpoint, 'starting')
    if (this.#room.size > 0) this.#events.needsProbe(endpoint)
  }

  #close(endpoint: LaneEndpoint): void {
    this.#takeOut(endpoint, 'closed')
    this.#forgetIfDone(endpoint)
  }

  #fail(endpoint: LaneEndpoint): void {
    if (endpoint.state !== 'open') return
    this.#takeOut(endpoint, 'failed')
    this.#events.endpointFailed(endpoint)
    this.#events.needsProbe(endpoint)
  }

  #takeOut(endpoint: LaneEndpoint, state: 'starting' | 'failed' | 'closed'): void {
    endpoint.state = state
    if (this.#open.get(endpoint.name) !== endpoint) return
    this.#open.delete(endpoint.name)
    this.#events.openChanged()
  }

  #forgetIfDone(endpoint: LaneEndpoint): void {
    if (endpoint.state !== 'closed' || endpoint.inFlight > 0 || !this.#endpoints.delete(endpoint)) return
    this.#recallActivity(endpoint.place)
    this.#loads.forget(endpoint.place)
    if (this.empty) this.#events.emptied()
  }

  #recallActivity(place: LoadPlace): void {
    const at = this.#loads.lastActiveAt(place)
    if (at !== undefined && at > (this.#lastActiveAt ?? 0)) this.#lastActiveAt = Math.min(at, this.#clock.now())
  }

  #takeSeat(hint: LaneHint): LaneSeat | undefined {
    const row = hint.row ?? ownerRow
    for (let pick = 0; pick < mostPicks; pick++) {
      const endpoint = this.#chooser.choose(this.#open, hint)
      if (!endpoint) return undefined
      if (this.#loads.take(endpoint.place, row, endpoint.capacity)) return new TakenSeat(this, endpoint, row)
    }
    return undefined
  }

  /** A request has left its seat. */
  leave(endpoint: LaneEndpoint, row: number, outcome: SeatOutcome): void {
    this.#loads.release(endpoint.place, row)
    this.#lastActiveAt = this.#clock.now()
    if (outcome === 'failed') this.#fail(endpoint)
    this.#forgetIfDone(endpoint)
    this.#admit()
  }
}

class TakenSeat implements LaneSeat {
  readonly address: EndpointAddress
  readonly endpoint: string
  readonly key: string | undefined
  readonly offered: LaneEndpoint
  readonly #lane: ModelLane
  readonly #row: number
  #released = false

  constructor(lane: ModelLane, endpoint: LaneEndpoint, row: number) {
    this.address = endpoint.address
    this.endpoint = endpoint.name
    this.key = endpoint.key
    this.offered = endpoint
    this.#lane = lane
    this.#row = row
  }

  answered(): void {
    this.#lane.answered()
  }

  release(outcome: SeatOutcome = 'served'): void {
    if (this.#released) return
    this.#released = true
    this.#lane.leave(this.offered, this.#row, outcome)
  }
}

/** Only what another thread may know can be sent there. */
export function offeredOf({ name, address, key, capacity, place }: OfferedEndpoint): OfferedEndpoint {
  return { name, address, key, capacity, place }
}
