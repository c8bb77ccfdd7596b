import type { Clock } from '../foundation/clock.ts'
import { SluiceError } from '../foundation/errors.ts'
import type { EndpointAddress, ReserveHint, Seat, SeatOutcome } from './endpoint-pool.ts'
import { pickEndpoint } from './pick-endpoint.ts'
import type { PodEndpoint } from './pod-endpoint.ts'
import { PrefixMemory } from './prefix-memory.ts'
import type { TrafficSettings } from './traffic-settings.ts'
import { WaitingRoom } from './waiting-room.ts'
import { type WakePhase, WakeTimes } from './wake-times.ts'

/**
 * `starting` and `failed` get nothing until a probe, or for the first the cluster, finds them healthy. `closed`: it gets
 * nothing new and is forgotten when its last seat is released.
 */
type EndpointState = 'open' | 'starting' | 'failed' | 'closed'

export interface LaneEndpoint {
  readonly name: string
  readonly identity: string
  readonly address: EndpointAddress
  readonly healthPath: string
  readonly capacity: number
  inFlight: number
  state: EndpointState
  /** What the cluster last said. */
  podReady: boolean
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
  countsChanged(): void
}

/** One model's endpoints, seats and waiters: the only place where they change. */
export class ModelLane {
  readonly #model: string
  readonly #settings: TrafficSettings
  readonly #clock: Clock
  readonly #events: LaneEvents
  readonly #room: WaitingRoom
  readonly #wake: WakeTimes
  /** What may be picked, by name. */
  readonly #open = new Map<string, LaneEndpoint>()
  /** Everything that is not forgotten yet; two of one name can be here when a Pod was replaced. */
  readonly #endpoints = new Set<LaneEndpoint>()
  readonly #isOpen = (endpoint: LaneEndpoint) => endpoint.state === 'open'
  readonly #answered = () => this.#wake.reached('first_byte')
  #prefixes: PrefixMemory<LaneEndpoint> | undefined
  #active = 0
  #lastPicked = ''
  #lastActiveAt: number | undefined

  constructor(options: { model: string; settings: TrafficSettings; clock: Clock; events: LaneEvents }) {
    this.#model = options.model
    this.#settings = options.settings
    this.#clock = options.clock
    this.#events = options.events
    this.#room = new WaitingRoom(options.clock)
    this.#wake = new WakeTimes(options.clock, (phase, ms) => options.events.wakeReached(phase, ms))
  }

  get active(): number {
    return this.#active
  }

  get waiting(): number {
    return this.#room.size
  }

  /** Whether anything may be picked, be it full. */
  get awake(): boolean {
    return this.#open.size > 0
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
  trySeat(hint: ReserveHint): Seat | undefined {
    if (this.#open.size === 0) return undefined
    const blocks = this.#open.size > 1 ? hint.prefix?.() : undefined
    const knownBlocks = blocks?.length ? this.#prefixes?.match(blocks, this.#isOpen) : undefined
    const lastPicked = this.#lastPicked
    const endpoint =
      pickEndpoint(this.#open.values(), { exclude: hint.exclude, lastPicked, knownBlocks }) ??
      (hint.exclude?.size ? pickEndpoint(this.#open.values(), { lastPicked }) : undefined)
    if (!endpoint) return undefined
    this.#lastPicked = endpoint.name
    if (blocks?.length) (this.#prefixes ??= new PrefixMemory()).remember(blocks, endpoint)
    return this.#seatAt(endpoint)
  }

  async wait(hint: ReserveHint, signal: AbortSignal, overdue: () => Error): Promise<Seat> {
    const { waitingRoomSize, retryAfterSeconds, wakeDeadlineMs } = this.#settings
    if (this.#room.size >= waitingRoomSize) {
      const details = { model: this.#model, waiting: this.#room.size, retryAfterSeconds }
      throw new SluiceError('waiting_room_full', details)
    }
    const waiting = this.#room.wait({ hint, deadlineMs: wakeDeadlineMs, overdue, signal })
    this.#events.countsChanged()
    if (this.#room.size === 1) this.#beginWaiting()
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

  /** A Pod of the model has come this far. */
  reached(phase: 'placed' | 'started'): void {
    this.#wake.reached(phase)
  }

  refuseWaiters(error: Error): void {
    this.#room.refuseAll(error)
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

  #add({ name, identity, address, healthPath, capacity }: PodEndpoint, podReady: boolean): void {
    const about = { name, identity, address, healthPath, capacity }
    const endpoint: LaneEndpoint = { ...about, inFlight: 0, state: 'starting', podReady }
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
    this.#wake.reached('loaded')
    if (this.#room.size === 0) this.#wake.abandon()
    this.#admit()
  }

  #admit(): void {
    this.#room.admit(
      (hint) => this.trySeat(hint),
      (waitedMs) => this.#events.admitted(waitedMs),
    )
  }

  #await(endpoint: LaneEndpoint): void {
    endpoint.state = 'starting'
    this.#open.delete(endpoint.name)
    if (this.#room.size > 0) this.#events.needsProbe(endpoint)
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
    this.#events.needsProbe(endpoint)
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
      this.#admit()
      this.#events.countsChanged()
    }
    return { address: endpoint.address, endpoint: endpoint.name, answered: this.#answered, release }
  }
}
