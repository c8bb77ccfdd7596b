import type { Clock } from '../../foundation/clock.ts'
import { EndpointChooser } from '../picking/endpoint-chooser.ts'
import type { EndpointAddress, ReserveHint, Seat, SeatOutcome } from '../endpoint-pool.ts'
import type { LoadPlace, LoadTable } from '../endpoints/load-table.ts'
import type { OfferedEndpoint } from '../endpoints/offered-endpoint.ts'

/** What the main thread has to be told. */
export interface WorkerSeatsEvents {
  freed(): void
  failed(place: LoadPlace): void
  answered(): void
}

interface WorkerSeatsOptions {
  readonly loads: LoadTable
  readonly row: number
  readonly clock: Clock
  readonly events: WorkerSeatsEvents
}

/** One model's usable endpoints, as the main thread last announced them. */
export class WorkerSeats {
  readonly #options: WorkerSeatsOptions
  readonly #open = new Map<string, WorkerEndpoint>()
  readonly #chooser = new EndpointChooser<WorkerEndpoint>((endpoint) => this.#open.get(endpoint.name) === endpoint)

  constructor(options: WorkerSeatsOptions) {
    this.#options = options
  }

  get hasChoice(): boolean {
    return this.#open.size > 1
  }

  /**
   * Replaces the usable endpoints. One that was there before stays the same object, so that its known prompts are kept.
   */
  offer(endpoints: readonly OfferedEndpoint[]): void {
    const known = [...this.#open.values()]
    this.#open.clear()
    for (const offered of endpoints) {
      const same = known.find(({ place }) => isSamePlace(place, offered.place))
      this.#open.set(offered.name, same ?? new WorkerEndpoint(offered, this.#options.loads))
    }
  }

  /** A seat, if an endpoint is free and nobody waits for it. */
  trySeat(hint: ReserveHint): Seat | undefined {
    const { loads, row, events } = this.#options
    // Each round rules one endpoint out: another thread filled it meanwhile, or it was closed.
    for (let picks = this.#open.size; picks > 0; picks--) {
      const endpoint = this.#chooser.choose(this.#open, hint)
      if (!endpoint || loads.isWanted(endpoint.place)) return undefined
      if (loads.take(endpoint.place, row, endpoint.capacity)) return this.#seatAt(endpoint, false)
      // For a moment this attempt was counted and may have kept others out.
      if (loads.isWatched(endpoint.place)) events.freed()
      // The main thread's message that it is shut, or open again, is on its way.
      if (!loads.isOpen(endpoint.place)) this.#open.delete(endpoint.name)
    }
    return undefined
  }

  /** The main thread has already counted it. */
  seatGranted(offered: OfferedEndpoint, blocks: readonly number[]): Seat {
    const known = this.#open.get(offered.name)
    if (!known || !isSamePlace(known.place, offered.place)) {
      return this.#seatAt(new WorkerEndpoint(offered, this.#options.loads), true)
    }
    if (blocks.length > 0) this.#chooser.remember(blocks, known)
    return this.#seatAt(known, true)
  }

  #seatAt(endpoint: WorkerEndpoint, waited: boolean): Seat {
    const { loads, row, clock, events } = this.#options
    const { place, address, name, key } = endpoint
    let released = false
    let answered = !waited
    return {
      address,
      endpoint: name,
      key,
      answered() {
        if (answered) return
        answered = true
        events.answered()
      },
      release: (outcome: SeatOutcome = 'served') => {
        if (released) return
        released = true
        loads.markActive(place, clock.now())
        loads.release(place, row)
        if (outcome === 'failed') {
          const known = this.#open.get(name)
          if (known && isSamePlace(known.place, place)) this.#open.delete(name)
          events.failed(place)
        } else if (loads.isWatched(place)) events.freed()
      },
    }
  }
}

class WorkerEndpoint {
  readonly name: string
  readonly address: EndpointAddress
  readonly key: string | undefined
  readonly capacity: number
  readonly place: LoadPlace
  readonly #loads: LoadTable

  constructor({ name, address, key, capacity, place }: OfferedEndpoint, loads: LoadTable) {
    this.name = name
    this.address = address
    this.key = key
    this.capacity = capacity
    this.place = place
    this.#loads = loads
  }

  get inFlight(): number {
    return this.#loads.load(this.place.slot)
  }
}

function isSamePlace(one: LoadPlace, other: LoadPlace): boolean {
  return one.slot === other.slot && one.generation === other.generation
}
