import type { EndpointAddress } from '../endpoint-pool.ts'
import type { LoadPlace, LoadTable } from './load-table.ts'
import type { PodEndpoint } from './pod-endpoint.ts'

/**
 * `starting` and `failed` endpoints get no requests until a probe finds them healthy, or, if starting, until the
 * cluster says so. A `closed` one gets no new requests and is forgotten when its last seat is released.
 */
type EndpointState = 'open' | 'starting' | 'failed' | 'closed'

/** An endpoint as the main thread knows it, which owns the waiting rooms. */
export class KnownEndpoint {
  readonly name: string
  readonly identity: string
  readonly address: EndpointAddress
  readonly healthPath: string
  readonly key: string | undefined
  readonly capacity: number
  readonly place: LoadPlace
  readonly #loads: LoadTable
  #state: EndpointState = 'starting'
  /** Whether the cluster last called the Pod ready. */
  podReady: boolean

  constructor(facts: PodEndpoint, podReady: boolean, place: LoadPlace, loads: LoadTable) {
    this.name = facts.name
    this.identity = facts.identity
    this.address = facts.address
    this.healthPath = facts.healthPath
    this.key = facts.key
    this.capacity = facts.capacity
    this.place = place
    this.podReady = podReady
    this.#loads = loads
  }

  get inFlight(): number {
    return this.#loads.load(this.place.slot)
  }

  get state(): EndpointState {
    return this.#state
  }

  /** Opens or shuts the endpoint's gate in the shared table, so that other threads follow at once. */
  set state(state: EndpointState) {
    this.#state = state
    if (state === 'open') this.#loads.open(this.place)
    else this.#loads.shut(this.place)
  }
}
