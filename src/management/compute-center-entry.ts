import type { ComputeCenter } from '../resources/compute-center.ts'

/** A compute center as the list shows it. The spelling of the two access URLs is the interface's. */
export interface ComputeCenterEntry {
  readonly id: string
  readonly code: string
  readonly name: string
  readonly nameEn: string
  readonly country: string
  readonly address: string
  readonly endpoInt?: string
  readonly osmEndpoInt?: string
  readonly onlineDate?: string
  readonly createdTime?: string | null
}

/** What an enterprise sees: the centers open to it, in a stable order. */
export function computeCenterEntries(centers: readonly ComputeCenter[], enterprise: string): ComputeCenterEntry[] {
  return centers
    .filter(({ spec }) => spec.enterprises.length === 0 || spec.enterprises.includes(enterprise))
    .sort((left, right) => (left.spec.code < right.spec.code ? -1 : 1))
    .map(entryOf)
}

function entryOf({ spec }: ComputeCenter): ComputeCenterEntry {
  const { id, code, name, nameEn, country, address, endpoint, osmEndpoint, onlineDate, createdTime } = spec
  return {
    id,
    code,
    name,
    nameEn,
    country,
    address,
    ...(endpoint === undefined ? {} : { endpoInt: endpoint }),
    ...(osmEndpoint === undefined ? {} : { osmEndpoInt: osmEndpoint }),
    ...(onlineDate === undefined ? {} : { onlineDate }),
    ...(createdTime === undefined ? {} : { createdTime }),
  }
}
