import type { EndpointAddress } from '../endpoint-pool.ts'
import type { LoadPlace, LoadTable } from './load-table.ts'
import type { PodEndpoint } from './pod-endpoint.ts'

/**
 * `starting` and `failed` get nothing until a probe, or for the first the cluster, finds them healthy. `closed`: it
 * gets nothing new and is forgotten when its last seat is released.
 */
type EndpointState = 'open' | 'starting' | 'failed' | 'closed'

/** An endpoint as the owner of the waiting rooms knows it. */
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
  /** What the cluster last said. */
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

  /** What others may do follows at once: the gate is open while the state is. */
  set state(state: EndpointState) {
    this.#state = state
    if (state === 'open') this.#loads.open(this.place)
    else this.#loads.shut(this.place)
  }
}
