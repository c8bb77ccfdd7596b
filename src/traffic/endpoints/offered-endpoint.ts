import type { EndpointAddress } from '../endpoint-pool.ts'
import type { LoadPlace } from './load-table.ts'

/** A usable endpoint, as a serving thread gets it. */
export interface OfferedEndpoint {
  readonly name: string
  readonly address: EndpointAddress
  readonly key: string | undefined
  readonly capacity: number
  readonly place: LoadPlace
}

/** Copies exactly these fields, because a message to another thread can carry only plain data. */
export function offeredOf({ name, address, key, capacity, place }: OfferedEndpoint): OfferedEndpoint {
  return { name, address, key, capacity, place }
}
