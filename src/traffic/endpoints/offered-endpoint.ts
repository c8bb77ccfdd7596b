import type { EndpointAddress } from '../endpoint-pool.ts'
import type { LoadPlace } from './load-table.ts'

/** An endpoint that may be picked, as a worker hears of it. */
export interface OfferedEndpoint {
  readonly name: string
  readonly address: EndpointAddress
  readonly key: string | undefined
  readonly capacity: number
  readonly place: LoadPlace
}

/** Only what another thread may know can be sent there. */
export function offeredOf({ name, address, key, capacity, place }: OfferedEndpoint): OfferedEndpoint {
  return { name, address, key, capacity, place }
}
